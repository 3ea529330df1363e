#include "report/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "base/error.h"
#include "report/follow_js.h"
#include "report/html.h"
#include "report/live_js.h"
#include "report/page.h"
#include "report/report_js.h"
#include "report/tables.h"
#include "report/timeline_js.h"
#include "train/json_text.h"

namespace hocket {
namespace {

constexpr std::size_t kMostPoints = 1600;
constexpr std::size_t kSmoothedFrom = 100;  // Shorter curves are shown as they are.

std::string number_text(double value, int digits) {
  return std::isfinite(value) ? fmt::format("{:.{}g}", value, digits) : "null";
}

std::string series_json(const Series& series) {
  std::string json = "[";
  for (const Point& point : thin_out(series, kMostPoints)) {
    json +=
        fmt::format("{}[{},{},{},{}]", json.size() > 1 ? "," : "", number_text(point.step, 12),
                    number_text(point.epoch, 7), number_text(point.seconds, 7), number_text(point.value, 6));
  }
  return json + ']';
}

template <typename Items, typename ToJson>
std::string list_json(const Items& items, ToJson to_json, const char* brackets = "[]") {
  std::string json(1, brackets[0]);
  for (const auto& item : items) {
    if (json.size() > 1) json += ',';
    json += to_json(item);
  }
  return json + brackets[1];
}

std::string trace_json(const TraceData& trace) {
  const auto lane = [](const TraceLane& item) {
    return fmt::format(R"({{"process":{},"thread":{}}})", json_string(item.process),
                       json_string(item.thread));
  };
  const auto name = [](const TraceName& item) {
    return fmt::format(R"({{"text":{},"kind":{}}})", json_string(item.text), json_string(item.kind));
  };
  const auto span = [](const TraceSpan& item) {
    return fmt::format("[{},{},{:.1f},{:.1f}]", item.lane, item.name, item.start, item.duration);
  };
  return fmt::format(R"({{"lanes":{},"names":{},"spans":{}}})", list_json(trace.lanes, lane),
                     list_json(trace.names, name), list_json(trace.spans, span));
}

std::string run_json(const RunData& run) {
  std::map<std::string, Series> series = run.series;
  for (const char* metric : {"loss", "accuracy"}) {
    const auto raw = run.series.find(fmt::format("train/{}", metric));
    if (raw != run.series.end() && raw->second.size() >= kSmoothedFrom) {
      series[fmt::format("smooth/{}", metric)] = smooth(raw->second);
    }
  }
  const auto entry = [](const auto& item) {
    return json_string(item.first) + ':' + series_json(item.second);
  };
  const auto layer = [](const auto& item) {
    return fmt::format(R"({{"name":{},"points":{}}})", json_string(item.first), series_json(item.second));
  };
  const auto rank = [number = 0](const RankTimes& times) mutable {
    return fmt::format(
        R"({{"rank":{},"compute":{:.6g},"communication":{:.6g},"wait":{:.6g},"other":{:.6g}}})", number++,
        times.compute, times.exposed, times.wait, times.other);
  };
  const auto target = run.find_number("target_accuracy");
  return fmt::format(R"({{"label":{},"target":{},"series":{},"layers":{},"ranks":{},"trace":{}}})",
                     json_string(run.label), target ? json_number(*target) : "null",
                     list_json(series, entry, "{}"), list_json(run.layers, layer), list_json(run.ranks, rank),
                     trace_json(run.trace));
}

std::string title_of(std::span<const RunData> runs) {
  if (runs.size() > 1) return fmt::format("{} runs compared", runs.size());
  return runs[0].find_text("model").value_or(runs[0].label);
}

std::string badges_of(std::span<const RunData> runs) {
  std::string html;
  if (runs.size() == 1) {
    const std::string status = runs[0].find_summary("status").value_or("no summary");
    html += fmt::format(R"( <span class="badge {}">{}</span>)", status == "done" ? "good" : "warn",
                        escape_html(status));
  }
  if (std::any_of(runs.begin(), runs.end(), [](const RunData& run) { return run.is_emulated(); })) {
    html += R"( <span class="badge warn">emulated</span>)";
  }
  return html;
}

std::string header_of(std::span<const RunData> runs) {
  std::string subtitle;
  if (runs.size() == 1) {
    const auto part = [&](const char* key) { return escape_html(runs[0].find_text(key).value_or("?")); };
    subtitle = fmt::format("{} · {} worker{} · sync {} · {} · seed {} · {}", part("data"), part("workers"),
                           part("workers") == "1" ? "" : "s", part("sync"), part("dtype"), part("seed"),
                           escape_html(runs[0].label));
  }
  return fmt::format(
      R"(<div class="title"><h1>{}{}</h1><p class="subtitle">{}</p></div>
<div class="controls">
<div class="choice" role="group" aria-label="Horizontal axis"><button data-axis="step" aria-pressed="true">steps</button><button data-axis="epoch" aria-pressed="false">epochs</button><button data-axis="time" aria-pressed="false">time</button></div>
{}</div>
)",
      escape_html(title_of(runs)), badges_of(runs), subtitle, kThemeButton);
}

std::string notices_of(std::span<const RunData> runs) {
  std::string html;
  for (const RunData& run : runs) {
    const std::string prefix = runs.size() > 1 ? escape_html(run.label) + ": " : "";
    if (run.is_emulated()) {
      html += fmt::format(
          "<p class=\"notice\">{}The times of this run are emulated: it slept where a real one computes or "
          "sends.</p>\n",
          prefix);
    }
    for (const std::string& notice : run.notices) {
      html += fmt::format("<p class=\"notice\">{}{}</p>\n", prefix, escape_html(notice));
    }
  }
  return html;
}

struct ChartSpec {
  const char* metric;
  const char* title;
  const char* unit;
  bool has_scale_choice;
  bool starts_at_zero;
};

constexpr ChartSpec kCharts[] = {{"loss", "Loss", "", true, false},
                                 {"accuracy", "Accuracy", "%", false, false},
                                 {"learning_rate", "Learning rate", "", false, true},
                                 {"samples_per_second", "Throughput in samples per second", "", false, true},
                                 {"gradient_norm", "Norm of the gradient", "", true, true}};

bool has_metric(std::span<const RunData> runs, std::string_view metric) {
  return std::any_of(runs.begin(), runs.end(), [&](const RunData& run) {
    return std::any_of(run.series.begin(), run.series.end(), [&](const auto& item) {
      const std::string_view key = item.first;
      return key.substr(key.rfind('/') + 1) == metric;
    });
  });
}

std::string chart(const ChartSpec& spec) {
  const char* scales =
      R"(<div class="controls"><div class="choice" role="group" aria-label="Vertical scale"><button data-set-scale="linear" aria-pressed="true">linear</button><button data-set-scale="logarithmic" aria-pressed="false">log</button></div></div>)";
  return fmt::format(R"(<figure><figcaption>{0}{1}</figcaption>
<div class="plot"><canvas data-chart="{2}" data-unit="{3}"{4} role="img" aria-label="{0}"></canvas></div></figure>
)",
                     spec.title, spec.has_scale_choice ? scales : "", spec.metric, spec.unit,
                     spec.starts_at_zero ? " data-zero" : "");
}

std::string layer_charts(std::span<const RunData> runs) {
  std::string html;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].layers.empty()) continue;
    html += fmt::format(R"(<figure><figcaption>Norm of the gradient by layer{}</figcaption>
<div class="plot"><canvas data-chart="layers" data-run="{}" data-scale="logarithmic" role="img" aria-label="Norm of the gradient by layer"></canvas></div></figure>
)",
                        runs.size() > 1 ? escape_html(": " + runs[i].label) : "", i);
  }
  return html;
}

std::string seconds_chart(std::span<const RunData> runs) {
  const bool has_ranks =
      std::any_of(runs.begin(), runs.end(), [](const RunData& run) { return !run.ranks.empty(); });
  if (!has_ranks) return "";
  return R"(<figure class="wide"><figcaption>Where the training time went</figcaption>
<div class="plot bars"><canvas data-chart="seconds" role="img" aria-label="Where the training time went"></canvas></div></figure>
)";
}

std::string timeline(std::span<const RunData> runs) {
  std::vector<std::string> kinds;  // In order of first use.
  std::uint64_t dropped = 0;
  bool has_spans = false;
  for (const RunData& run : runs) {
    for (const TraceName& name : run.trace.names) {
      if (std::find(kinds.begin(), kinds.end(), name.kind) == kinds.end()) kinds.push_back(name.kind);
    }
    dropped += run.trace.dropped;
    has_spans = has_spans || !run.trace.spans.empty();
  }
  if (!has_spans) return "";
  std::string legend;
  for (const std::string& kind : kinds) {
    legend += fmt::format("<li><i data-kind=\"{0}\"></i>{0}</li>", escape_html(kind));
  }
  const std::string note =
      dropped > 0
          ? fmt::format("<p class=\"note\">The newest spans; {} earlier ones are left out.</p>", dropped)
          : "";
  return fmt::format(
      R"(<figure class="wide"><figcaption>What each rank did when<div class="controls"><div class="choice">
<button data-timeline="left" aria-label="Earlier">←</button><button data-timeline="in" aria-label="Zoom in">+</button>
<button data-timeline="out" aria-label="Zoom out">−</button><button data-timeline="all">all</button>
<button data-timeline="right" aria-label="Later">→</button></div></div></figcaption>
<div class="timeline"><canvas id="timeline" tabindex="0" role="img" aria-label="Timeline of what each thread did"></canvas>
<div class="tip" id="timeline-tip" hidden></div></div>
<ul class="legend">{}</ul>{}</figure>
)",
      legend, note);
}

std::string charts_of(std::span<const RunData> runs) {
  std::string html = "<h2>Curves</h2>\n<div class=\"charts\">\n";
  for (const ChartSpec& spec : kCharts) {
    if (has_metric(runs, spec.metric)) html += chart(spec);
  }
  return html + layer_charts(runs) + seconds_chart(runs) + timeline(runs) + "</div>\n" +
         render_rank_table(runs);
}

std::string footer_of(std::span<const RunData> runs) {
  return fmt::format(
      "Hocket {}. Pale lines are the values as measured, full lines a moving average. A curve of "
      "more than {} "
      "points shows the first, lowest, highest and last value of each stretch.",
      escape_html(runs[0].find_summary("version").value_or("")), kMostPoints);
}

PageParts parts_of(std::span<const RunData> runs) {
  HOCKET_CHECK(!runs.empty());
  PageParts page;
  page.title = title_of(runs);
  page.header = header_of(runs);
  page.main = notices_of(runs) + (runs.size() == 1 ? render_cards(runs[0]) : render_comparison(runs));
  page.main += charts_of(runs) + render_summary_table(runs) + render_settings_table(runs);
  page.footer = footer_of(runs);
  page.scripts = {kReportJs, kTimelineJs};
  return page;
}

}  // namespace

std::string render_report(std::span<const RunData> runs) {
  PageParts page = parts_of(runs);
  page.data = fmt::format(R"({{"runs":{}}})", list_json(runs, run_json));
  return render_page(page);
}

std::string render_live_report(std::span<const RunData> runs, const std::string& version,
                               const std::string& api) {
  PageParts page = parts_of(runs);
  page.is_live = true;
  page.data = fmt::format(R"({{"version":{},"api":{},"runs":{}}})", json_string(version), json_string(api),
                          list_json(runs, run_json));
  page.scripts.insert(page.scripts.end(), {kLiveJs, kFollowJs});
  return render_page(page);
}

std::string render_live_data(std::span<const RunData> runs, const std::string& version) {
  return fmt::format(R"({{"version":{},"runs":{}}})", json_string(version), list_json(runs, run_json));
}

}  // namespace hocket
