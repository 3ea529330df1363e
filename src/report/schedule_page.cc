#include "report/schedule_page.h"

#include <fmt/format.h>

#include "report/html.h"
#include "report/page.h"
#include "report/schedule_js.h"

namespace hocket {
namespace {

std::string table(const SchedulePage& page) {
  std::string html = "<div class=\"table\"><table>\n<thead><tr>";
  for (std::size_t i = 0; i < page.columns.size(); ++i)
    html += fmt::format("<th{}>{}</th>", i == 0 ? "" : " class=\"number\"", escape_html(page.columns[i]));
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t row = 0; row < page.rows.size(); ++row) {
    html += fmt::format(R"(<tr><th><span class="swatch" data-swatch="{}"></span>{}</th>)", row,
                        escape_html(page.rows[row].front()));
    for (std::size_t i = 1; i < page.rows[row].size(); ++i)
      html += fmt::format("<td class=\"number\">{}</td>", escape_html(page.rows[row][i]));
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string chart(const char* name, const char* title) {
  return fmt::format(R"(<figure><figcaption>{1}</figcaption>
<div class="plot"><canvas data-chart="{0}" role="img" aria-label="{1}"></canvas></div></figure>
)",
                     name, title);
}

}  // namespace

std::string render_schedule_page(const SchedulePage& page) {
  PageParts parts;
  parts.title = page.title;
  parts.header = fmt::format(
      "<div class=\"title\"><h1>{}</h1><p class=\"subtitle\">{}</p></div>\n<div "
      "class=\"controls\">\n{}</div>\n",
      escape_html(page.title), escape_html(page.subtitle), kThemeButton);
  parts.main = table(page) + "<h2>Completion</h2>\n<div class=\"charts\">\n" +
               chart("mean", "Mean completion time") +
               chart("completions", "Jobs that complete within a time");
  if (page.has_sweep)
    parts.main += chart("response", "Waiting for the first start, against slot length") +
                  chart("useful", "Slot time that makes progress, against slot length");
  parts.main += "</div>\n<h2>The cluster over time</h2>\n<div class=\"charts\">\n" +
                chart("busy", "Slots held") + chart("waiting", "Jobs that wait") + "</div>\n";
  parts.footer = "Replayed on a modelled cluster by the policies that schedule the real one.";
  parts.data = page.data;
  parts.scripts = {kScheduleJs};
  return render_page(parts);
}

}  // namespace hocket
