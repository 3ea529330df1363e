#include "report/comparison_page.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "report/compare_js.h"
#include "report/comparison_json.h"
#include "report/html.h"
#include "report/page.h"
#include "report/scaling.h"
#include "report/timeline_js.h"
#include "report/winners.h"

namespace hocket {
namespace {

constexpr const char* kMissing = "–";

std::string seconds(double value) { return fmt::format("{:.4g} s", value); }
std::string percent(double value) { return fmt::format("{:.2f} %", 100 * value); }
std::string plain(double value) { return fmt::format("{:.3g}", value); }
std::string money(double value) { return fmt::format("{:.3g}", value); }
std::string megabytes(double value) { return fmt::format("{:.4g} MB", value / 1e6); }
std::string factor(double value) { return fmt::format("{:.2f} ×", value); }

using Format = std::string (*)(double);

std::string shown(const std::optional<double>& value, Format format, const char* otherwise = kMissing) {
  return value ? format(*value) : otherwise;
}

std::string shown(const std::optional<MedianEstimate>& estimate, Format format) {
  if (!estimate) return kMissing;
  const std::string median = shown(estimate->median, format, "never");
  if (estimate->low == estimate->high) return median;
  return fmt::format(R"({}<span class="origin">{} … {}</span>)", median,
                     shown(estimate->low, format, "never"), shown(estimate->high, format, "never"));
}

std::string error_shown(const Comparison& comparison, const std::optional<double>& error) {
  return error ? comparison.error_text(*error) : kMissing;
}

// One run has no deviation.
std::string mean_shown(const Comparison& comparison, const WayScore& score) {
  if (!score.final_error) return kMissing;
  const std::string mean = comparison.error_text(score.final_error->mean);
  return score.done > 1 ? fmt::format("{} ± {}", mean, comparison.error_text(score.final_error->deviation))
                        : mean;
}

// One column of a table of ways.
struct Column {
  const char* title;
  std::string (*cell)(const Comparison& comparison, const ComparedWay& way, const WayScore& score);  // HTML.
};

#define CELL(expression)                                                                    \
  [](const Comparison& all, const ComparedWay& way, const WayScore& score) -> std::string { \
    static_cast<void>(all), static_cast<void>(way), static_cast<void>(score);               \
    return expression;                                                                      \
  }

const std::vector<Column>& efficiency_columns() {
  static const std::vector<Column> columns{
      {"Time to target", CELL(shown(score.seconds, seconds))},
      {"Epochs", CELL(shown(score.epochs, plain))},
      {"Sent", CELL(shown(score.bytes, megabytes))},
      {"Worker seconds", CELL(shown(score.worker_seconds, seconds))},
      {"Reached", CELL(fmt::format("{} of {}", score.reached, score.runs))},
      {"Speed-up", CELL(shown(score.speedup, factor))},
      {"Cost to target", CELL(shown(score.cost_to_target, money, "never"))},
      {"Cost of a run", CELL(shown(score.cost, money))}};
  return columns;
}

const std::vector<Column>& margin_columns() {
  static const std::vector<Column> columns{
      {"Compared with", CELL(score.marginal ? escape_html(all.ways[score.marginal->than].label) : kMissing)},
      {"Workers added", CELL(score.marginal ? std::to_string(score.marginal->added_workers) : kMissing)},
      {"Each saves, to the target",
       CELL(score.marginal ? shown(score.marginal->seconds_saved, seconds) : kMissing)},
      {"Each costs", CELL(score.marginal ? shown(score.marginal->cost_added, money) : kMissing)}};
  return columns;
}

const std::vector<Column>& stability_columns() {
  static const std::vector<Column> columns{
      {"Final error", CELL(mean_shown(all, score))},
      {"Worst", CELL(error_shown(all, score.worst_error))},
      {"Best", CELL(error_shown(all, score.best_error))},
      {"Gap to one worker", CELL(error_shown(all, score.gap))},
      {"Training loss above its least", CELL(shown(score.optimum_gap, plain))},
      {"Diverged", CELL(fmt::format("{} of {}", score.diverged, score.runs))},
      {"Failed", CELL(std::to_string(score.failed))},
      {"Same bits again", CELL(score.repeats_bitwise ? (*score.repeats_bitwise ? "yes" : "no") : kMissing)},
      {"Knobs added",
       CELL(way.knobs.empty() ? std::string("0")
                              : fmt::format("{}: {}", way.knobs.size(),
                                            escape_html(fmt::format("{}", fmt::join(way.knobs, ", ")))))},
      {"Defaults sufficed", CELL(score.defaults_sufficed ? "yes" : "no")}};
  return columns;
}

const std::vector<Column>& resource_columns() {
  static const std::vector<Column> columns{
      {"Samples a second", CELL(fmt::format("{:.0f}", score.samples_per_second))},
      {"Over one worker", CELL(shown(score.throughput_speedup, factor))},
      {"Wall time", CELL(seconds(score.wall_seconds))},
      {"CPU time", CELL(seconds(score.cpu_seconds))},
      {"Sent in a run", CELL(megabytes(score.bytes_sent))},
      {"Communication not hidden", CELL(percent(score.exposed_comm_fraction))},
      {"Staleness", CELL(score.staleness_shares.empty() ? kMissing : plain(score.staleness))},
      {"Conflicts", CELL(shown(score.conflict_rate, percent))},
      {"Peak memory", CELL(megabytes(score.peak_rss_bytes))}};
  return columns;
}

#undef CELL

constexpr const char* kEmulated = R"( <span class="badge warn">emulated</span>)";

std::string way_head(const Comparison& comparison, std::size_t index) {
  const std::vector<TrainTrial>& trials = comparison.ways[index].trials;
  const bool is_emulated =
      std::any_of(trials.begin(), trials.end(), [](const TrainTrial& trial) { return trial.is_emulated; });
  return fmt::format(R"(<tr><th><span class="swatch" data-swatch="{}"></span>{}{}</th>)", index,
                     escape_html(comparison.ways[index].label), is_emulated ? kEmulated : "");
}

std::string table(const Comparison& comparison, const Scores& scores, const std::string& title,
                  const std::vector<Column>& columns) {
  std::string html = fmt::format("<h2>{}</h2>\n<div class=\"table dense\"><table>\n<thead><tr><th>way</th>",
                                 escape_html(title));
  for (const Column& column : columns) html += fmt::format("<th class=\"number\">{}</th>", column.title);
  html += "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < comparison.ways.size(); ++i) {
    html += way_head(comparison, i);
    for (const Column& column : columns) {
      html += fmt::format("<td class=\"number\">{}</td>",
                          column.cell(comparison, comparison.ways[i], scores.ways[i]));
    }
    html += "</tr>\n";
  }
  return html + "</tbody></table></div>\n";
}

std::string assumptions(const Comparison& comparison) {
  std::string html =
      "<h2>What each way assumes</h2>\n<div "
      "class=\"table\"><table>\n<thead><tr><th>way</th><th>assumption</th>"
      "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < comparison.ways.size(); ++i) {
    html += fmt::format("{}<td>{}</td></tr>\n", way_head(comparison, i),
                        escape_html(comparison.ways[i].assumption));
  }
  return html + "</tbody></table></div>\n";
}

std::string run_row(const Comparison& comparison, std::size_t way, const TrainTrial& trial) {
  const bool has_report = trial.status == TrialStatus::done;
  const std::string name = fmt::format("seed {}{}", trial.seed, trial.is_repeat ? ", again" : "");
  const std::string run =
      has_report ? fmt::format(R"(<a href="{}/report.html">{}</a>)", escape_html(trial.folder), name) : name;
  const std::string last = trial.tests.empty() ? kMissing : comparison.error_text(trial.tests.back().error);
  return fmt::format(
      "{}<td>{}</td><td>{}</td><td class=\"number\">{}</td><td "
      "class=\"number\">{}</td><td><code>{}</code></td>"
      "</tr>\n",
      way_head(comparison, way), run,
      escape_html(trial.reason.empty() ? name_of(trial.status)
                                       : fmt::format("{}: {}", name_of(trial.status), trial.reason)),
      last, seconds(trial.train_seconds), escape_html(trial.parameter_hash));
}

std::string runs(const Comparison& comparison) {
  std::string html =
      "<h2>Runs</h2>\n<div class=\"table\"><table>\n<thead><tr><th>way</th><th>run</th><th>status</th>"
      "<th class=\"number\">Final error</th><th class=\"number\">Training time</th><th>parameter "
      "hash</th>"
      "</tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < comparison.ways.size(); ++i) {
    for (const TrainTrial& trial : comparison.ways[i].trials) html += run_row(comparison, i, trial);
  }
  return html + "</tbody></table></div>\n";
}

// The figures of one page, each of which says what is emulated in it.
class Figures {
 public:
  explicit Figures(const Comparison& comparison) : mark_(comparison.is_emulated() ? kEmulated : "") {}

  std::string chart(const char* name, const char* title, const char* form = "") const {
    const bool is_wide = *form != 0;
    return fmt::format(R"(<figure{3}><figcaption>{1}{4}</figcaption>
<div class="plot{2}"><canvas data-chart="{0}" role="img" aria-label="{1}"></canvas></div></figure>
)",
                       name, title, form, is_wide ? " class=\"wide\"" : "", mark_);
  }

  std::string gantt() const {
    return fmt::format(
        R"(<figure class="wide"><figcaption>Some steps in the middle of a run of each way{}</figcaption>
<div class="timeline"><canvas id="timeline" tabindex="0" role="img" aria-label="Timeline of what each thread did"></canvas>
<div class="tip" id="timeline-tip" hidden></div></div><ul class="legend">
<li><i data-kind="compute"></i>compute</li><li><i data-kind="communication"></i>communication</li>
<li><i data-kind="wait"></i>wait</li><li><i data-kind="data"></i>data</li></ul></figure>
)",
        mark_);
  }

 private:
  const char* mark_;
};

// A run of each way whose steps were recorded.
const TrainTrial* find_traced(const ComparedWay& way) {
  for (const TrainTrial& trial : way.trials) {
    if (trial.status == TrialStatus::done && !trial.window.spans.empty()) return &trial;
  }
  return nullptr;
}

nlohmann::ordered_json trace_json(const ComparedWay& way, const TraceData& trace) {
  nlohmann::ordered_json json{{"label", way.label}, {"trace", {}}};
  auto& all = json["trace"] = {{"lanes", nlohmann::ordered_json::array()},
                               {"names", nlohmann::ordered_json::array()},
                               {"spans", nlohmann::ordered_json::array()}};
  for (const TraceLane& lane : trace.lanes)
    all["lanes"].push_back({{"process", lane.process}, {"thread", lane.thread}});
  for (const TraceName& name : trace.names)
    all["names"].push_back({{"text", name.text}, {"kind", name.kind}});
  for (const TraceSpan& span : trace.spans) {
    all["spans"].push_back({span.lane, span.name, span.start, span.duration});
  }
  return json;
}

// compare.json, and for the timeline what compare.json has no need of.
std::string page_data(const Comparison& comparison, const Scores& scores) {
  auto json = nlohmann::ordered_json::parse(to_json(comparison, scores));
  json["runs"] = nlohmann::ordered_json::array();
  for (const ComparedWay& way : comparison.ways) {
    if (const TrainTrial* trial = find_traced(way)) json["runs"].push_back(trace_json(way, trial->window));
  }
  return json.dump(-1, ' ', false, nlohmann::ordered_json::error_handler_t::replace);
}

std::string winners_table(const Comparison& comparison, const Scores& scores) {
  const std::vector<Winner> all = winners(comparison, scores);
  if (all.empty()) return "";
  std::string html =
      "<h2>Winners</h2>\n<div class=\"table dense\"><table id=\"winners\">\n<thead><tr><th>way</th>"
      "<th>criterion</th><th>by</th></tr></thead>\n<tbody>\n";
  for (const Winner& winner : all) {
    html += fmt::format("{}<td>{}</td><td>{}</td></tr>\n", way_head(comparison, winner.way), winner.criterion,
                        escape_html(winner.figure));
  }
  return html + "</tbody></table></div>\n";
}

template <typename Value>
bool varies(const Comparison& comparison, Value ComparedWay::*member) {
  return std::any_of(comparison.ways.begin(), comparison.ways.end(),
                     [&](const ComparedWay& way) { return way.*member != comparison.ways.front().*member; });
}

std::string charts(const Comparison& comparison, const Scores& scores) {
  const auto any = [&](auto claim) { return std::any_of(scores.ways.begin(), scores.ways.end(), claim); };
  std::string html = "<h2>Curves</h2>\n<div class=\"charts\">\n";
  const Figures figures(comparison);
  const auto chart = [&](const char* name, const char* title, const char* form = "") {
    return figures.chart(name, title, form);
  };
  if (any([](const WayScore& way) { return !way.curve.empty(); })) {
    html += chart("time", "Error over time") + chart("epochs", "Error over epochs");
    if (any([](const WayScore& way) { return way.bytes_sent > 0; }))
      html += chart("bytes", "Error over bytes sent");
    html += chart("cost", "Cost against error");
  }
  if (varies(comparison, &ComparedWay::workers)) {
    html += chart("speedup", "Speed-up against workers") +
            chart("communication", "Communication that nothing hides, against workers");
  }
  if (varies(comparison, &ComparedWay::batch)) {
    html += chart("batch-error", "Final error against batch size") +
            chart("batch-time", "Time to target against batch size");
  }
  if (any([](const WayScore& way) { return way.done > 0; }))
    html += chart("shares", "Where the training time went", " bars");
  if (any([](const WayScore& way) { return !way.staleness_shares.empty(); }))
    html += chart("staleness", "Staleness of gradients");
  const auto is_traced = [](const ComparedWay& way) { return find_traced(way) != nullptr; };
  if (std::any_of(comparison.ways.begin(), comparison.ways.end(), is_traced)) html += figures.gantt();
  html += "</div>\n";
  if (const auto scaling = model_scaling(comparison, scores))
    html += fmt::format("<p class=\"note\">Dashed lines are {}.</p>\n", escape_html(scaling->assumption));
  return html;
}

std::string header(const Comparison& comparison, const Scores& scores) {
  const std::string target = scores.target_error
                                 ? fmt::format(" · target {} {}{}", comparison.measure(),
                                               comparison.error_text(*scores.target_error),
                                               comparison.target_error ? "" : ", which every run reached")
                                 : "";
  return fmt::format(
      R"(<div class="title"><h1>{} ways to train {}{}</h1><p class="subtitle">{}{} · {} core{} · {} a worker hour, {} a gigabyte</p></div>
<div class="controls">
{}</div>
)",
      comparison.ways.size(), escape_html(comparison.model),
      comparison.is_complete() ? "" : R"( <span class="badge warn">interrupted</span>)",
      escape_html(comparison.data), target, comparison.cores, comparison.cores == 1 ? "" : "s",
      comparison.prices.worker_hour, comparison.prices.gigabyte, kThemeButton);
}

std::string notices(const Comparison& comparison) {
  std::string html;
  for (const std::string& notice : comparison.notices())
    html += fmt::format("<p class=\"notice\">{}</p>\n", escape_html(notice));
  return html;
}

}  // namespace

std::string render_comparison_page(const Comparison& comparison, const Scores& scores) {
  PageParts page;
  page.title = fmt::format("{} ways to train {}", comparison.ways.size(), comparison.model);
  page.header = header(comparison, scores);
  page.main = notices(comparison) + winners_table(comparison, scores);
  page.main += table(comparison, scores, "Efficiency and cost", efficiency_columns());
  page.main += table(comparison, scores, "Stability and complexity", stability_columns());
  page.main += charts(comparison, scores);
  page.main += table(comparison, scores, "What each added worker brings", margin_columns());
  page.main += table(comparison, scores, "Resources", resource_columns());
  page.main += assumptions(comparison) + runs(comparison);
  page.footer = fmt::format(
      "Hocket {}. Errors are of the test part. Medians over seeds, below them the bootstrap's 95 % interval; "
      "means with the deviation of "
      "the "
      "sample. Bands reach from the best to the worst seed. Time is training time: tests and checkpoints do "
      "not count. Bytes to the target are a run's total in proportion to its steps.",
      escape_html(comparison.version));
  page.data = page_data(comparison, scores);
  page.scripts = {kCompareJs, kTimelineJs};
  return render_page(page);
}

}  // namespace hocket
