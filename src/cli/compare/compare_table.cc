#include "cli/compare/compare_table.h"

#include <fmt/format.h>

#include <algorithm>

#include "cli/units.h"
#include "report/winners.h"

namespace hocket {
namespace {

constexpr std::size_t kWidth = 110;

using Row = std::vector<std::string>;

// In characters, not bytes.
std::size_t width_of(const std::string& text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// Columns in which no way has anything leave their room to the names.
void drop_empty_columns(std::vector<Row>& rows) {
  for (std::size_t i = rows.front().size() - 1; i > 0; --i) {
    const auto is_empty = [&](const Row& row) { return row[i].empty() || row[i] == "-"; };
    if (!std::all_of(rows.begin() + 1, rows.end(), is_empty)) continue;
    for (Row& row : rows) row.erase(row.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

// The first column to the left and cut where the table would be too wide, the others to the right.
std::string aligned(std::vector<Row> rows) {
  drop_empty_columns(rows);
  std::vector<std::size_t> widths(rows.front().size(), 0);
  for (const Row& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], width_of(row[i]));
  }
  std::size_t others = 0;
  for (std::size_t i = 1; i < widths.size(); ++i) others += widths[i] + 2;
  widths[0] = std::min(widths[0], kWidth - std::min(others, kWidth - 8));
  std::string text;
  for (Row& row : rows) {
    if (width_of(row[0]) > widths[0]) row[0] = row[0].substr(0, widths[0] - 1) + "…";
    text += row[0] + std::string(widths[0] - width_of(row[0]), ' ');
    for (std::size_t i = 1; i < row.size(); ++i)
      text += std::string(widths[i] + 2 - width_of(row[i]), ' ') + row[i];
    text += '\n';
  }
  return text;
}

std::string number_text(double value) { return fmt::format("{:.3g}", value); }
std::string seconds_text(double value) { return fmt::format("{:.2f}", value); }
std::string factor_text(double value) { return fmt::format("{:.2f}", value); }
std::string share_text(double value) { return fmt::format("{:.0f} %", 100 * value); }
// Errors stand in per cent, with the sign in the head of their column; losses as they are.
std::string error_text(double value) { return fmt::format("{:.2f}", 100 * value); }
std::string gap_text(double value) { return fmt::format("{:+.2f}", 100 * value); }
std::string loss_text(double value) { return fmt::format("{:.4f}", value); }
std::string loss_gap_text(double value) { return fmt::format("{:+.4f}", value); }

using Format = std::string (*)(double);

std::string shown(const std::optional<double>& value, Format format, const char* otherwise = "-") {
  return value ? format(*value) : otherwise;
}

std::string median_text(const std::optional<MedianEstimate>& estimate, Format format) {
  return estimate ? shown(estimate->median, format, "never") : "-";
}

std::string interval_text(const std::optional<MedianEstimate>& estimate, Format format) {
  if (!estimate || estimate->low == estimate->high) return "";
  return fmt::format("{} - {}", shown(estimate->low, format, "never"),
                     shown(estimate->high, format, "never"));
}

// One run has no deviation.
std::string mean_text(const MeanEstimate& estimate, int runs, Format format) {
  return runs > 1 ? fmt::format("{} ± {}", format(estimate.mean), format(estimate.deviation))
                  : format(estimate.mean);
}

std::string efficiency_table(const Comparison& comparison, const Scores& scores) {
  std::vector<Row> rows{
      {"way", "seconds", "95 %", "epochs", "sent", "worker s", "speed-up", "saved each", "cost"}};
  for (std::size_t i = 0; i < scores.ways.size(); ++i) {
    const WayScore& score = scores.ways[i];
    rows.push_back({comparison.ways[i].label, median_text(score.seconds, seconds_text),
                    interval_text(score.seconds, seconds_text), median_text(score.epochs, number_text),
                    median_text(score.bytes, bytes_text), median_text(score.worker_seconds, seconds_text),
                    shown(score.speedup, factor_text),
                    score.marginal ? shown(score.marginal->seconds_saved, seconds_text) : "-",
                    shown(score.cost_to_target, number_text, score.seconds ? "never" : "-")});
  }
  return aligned(std::move(rows));
}

std::string stability_table(const Comparison& comparison, const Scores& scores) {
  const bool is_loss = comparison.judges_by_loss();
  const Format error = is_loss ? loss_text : error_text;
  std::vector<Row> rows{{"way", is_loss ? "test loss" : "error %", "worst", "gap", "diverged", "same bits",
                         "knobs", "samples/s", "compute", "comm.", "wait", "stale"}};
  for (std::size_t i = 0; i < scores.ways.size(); ++i) {
    const WayScore& score = scores.ways[i];
    const bool has_runs = score.done > 0;
    const auto share = [&](double value) { return has_runs ? share_text(value) : "-"; };
    rows.push_back({comparison.ways[i].label,
                    score.final_error ? mean_text(*score.final_error, score.done, error) : "-",
                    shown(score.worst_error, error), shown(score.gap, is_loss ? loss_gap_text : gap_text),
                    fmt::format("{} of {}", score.diverged, score.runs),
                    score.repeats_bitwise ? (*score.repeats_bitwise ? "yes" : "no") : "-",
                    std::to_string(comparison.ways[i].knobs.size()),
                    has_runs ? count_text(static_cast<std::int64_t>(score.samples_per_second)) : "-",
                    share(score.shares.compute), share(score.shares.communication), share(score.shares.wait),
                    score.staleness_shares.empty() ? "-" : number_text(score.staleness)});
  }
  return aligned(std::move(rows));
}

// Of a convex model, whose least training loss is known.
std::string optimum_text(const Comparison& comparison, const Scores& scores) {
  if (!comparison.optimum) return "";
  std::string text = fmt::format("\ntraining loss above its least, {:.6g}\n", *comparison.optimum);
  for (std::size_t i = 0; i < scores.ways.size(); ++i) {
    if (!scores.ways[i].optimum_gap) continue;
    text += fmt::format("{:<26}{:.3g}\n", comparison.ways[i].label, *scores.ways[i].optimum_gap);
  }
  return text;
}

std::string winners_text(const Comparison& comparison, const Scores& scores) {
  std::string text;
  for (const Winner& winner : winners(comparison, scores)) {
    text +=
        fmt::format("{:<26}{} ({})\n", winner.criterion, comparison.ways[winner.way].label, winner.figure);
  }
  return text.empty() ? "" : "\nwinners\n" + text;
}

std::string complaints(const Comparison& comparison) {
  std::string text;
  for (const ComparedWay& way : comparison.ways) {
    for (const TrainTrial& trial : way.trials) {
      if (!trial.reason.empty())
        text +=
            fmt::format("{}, seed {}, {}: {}\n", way.label, trial.seed, name_of(trial.status), trial.reason);
    }
  }
  return text;
}

std::string footnotes(const Comparison& comparison) {
  std::string text =
      fmt::format("cost at {} a worker hour and {} a gigabyte; seconds are of training alone\n",
                  comparison.prices.worker_hour, comparison.prices.gigabyte);
  for (const std::string& notice : comparison.notices()) text += notice + '\n';
  return text;
}

}  // namespace

std::string describe(const Comparison& comparison, const Scores& scores) {
  std::string text = fmt::format("{} on {}", comparison.model, comparison.data);
  if (scores.target_error) {
    text +=
        fmt::format(", to a {} of {}{}", comparison.measure(), comparison.error_text(*scores.target_error),
                    comparison.target_error ? "" : ", which every run reached");
  }
  const char* mark = comparison.is_emulated() ? ", emulated" : "";
  text += fmt::format("\n\nefficiency and cost{}\n{}\nstability and complexity{}\n{}", mark,
                      efficiency_table(comparison, scores), mark, stability_table(comparison, scores));
  return text + optimum_text(comparison, scores) + winners_text(comparison, scores) + '\n' +
         footnotes(comparison) + complaints(comparison);
}

}  // namespace hocket
