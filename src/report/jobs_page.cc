#include "report/jobs_page.h"

#include <fmt/format.h>

#include "report/gantt_js.h"
#include "report/jobs_js.h"
#include "report/live_js.h"
#include "report/page.h"

namespace hocket {
namespace {

constexpr const char* kGantt = R"(<h2>Slots</h2>
<figure class="wide"><figcaption>Who held which slot when<div class="controls"><div class="choice" role="group" aria-label="Time shown">
<button data-span="600" aria-pressed="false">10 min</button><button data-span="3600" aria-pressed="false">1 h</button>
<button data-span="86400" aria-pressed="false">1 day</button><button data-span="0" aria-pressed="true">all</button></div></div></figcaption>
<div class="timeline"><canvas id="gantt" role="img" aria-label="Who held which slot when"></canvas>
<div class="tip" id="gantt-tip" hidden></div></div></figure>
)";

// A table that the page's script fills.
std::string table(const char* id, const char* title, const char* columns) {
  return fmt::format(
      "<section id=\"{0}\"><h2>{1}</h2>\n<div "
      "class=\"table\"><table>\n<thead><tr>{2}</tr></thead>\n<tbody></tbody>"
      "</table></div></section>\n",
      id, title, columns);
}

}  // namespace

std::string render_jobs_page(const std::string& data) {
  PageParts page;
  page.title = "Jobs";
  page.header = fmt::format(
      "<div class=\"title\"><h1>Jobs</h1><p class=\"subtitle\" id=\"counts\"></p></div>\n<div "
      "class=\"controls\">\n{}</div>\n",
      kThemeButton);
  constexpr const char* kJobColumns =
      "<th>job</th><th>name</th><th>owner</th><th>state</th><th "
      "class=\"number\">workers</th><th>machine</th><th "
      "class=\"number\">worker time</th><th class=\"number\">starts</th><th>reason</th>";
  page.main = kGantt + table("queue", "Queue", kJobColumns);
  page.main += table("machines", "Machines",
                     "<th>machine</th><th class=\"number\">slots</th><th class=\"number\">held</th><th "
                     "class=\"number\">rack</th><th>state</th>");
  page.main += "<section id=\"curves\"><h2>Running</h2>\n<div class=\"charts\"></div></section>\n";
  page.main += table("ended", "Ended", kJobColumns);
  page.footer = "Slots and jobs that ended are those of the last day. The same as JSON: /api/jobs.";
  page.data = data;
  page.scripts = {kLiveJs, kGanttJs, kJobsJs};
  page.is_live = true;
  return render_page(page);
}

}  // namespace hocket
