#include "cli/bench/step_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/units.h"

namespace hocket {
namespace {

std::string rate_text(const Spread& rate) {
  const auto whole = [](double value) { return count_text(std::llround(value)); };
  return fmt::format("{:>9} ({} - {})", whole(rate.median), whole(rate.p10), whole(rate.p90));
}

std::string line(const StepRow& ours, const StepRow* theirs, const std::string& threads,
                 const std::string& ratio) {
  return fmt::format("{:<10}{:<11}{:<9}{:<30}{:<30}{:<22}{:>4.0f} % {}\n", ours.model, ours.unit, threads,
                     rate_text(ours.items_per_second),
                     theirs == nullptr ? "-" : rate_text(theirs->items_per_second), ratio,
                     100 * ours.share_of_peak,
                     theirs == nullptr ? "" : fmt::format("{:>4.0f} %", 100 * theirs->share_of_peak));
}

std::string ratio_text(const StepRow& ours, const StepRow& theirs) {
  const Spread ratio = paired_ratio(ours, theirs);
  return fmt::format("{:.2f} ({:.2f} - {:.2f})", ratio.median, ratio.p10, ratio.p90);
}

// The row of the peer for a model with the most items per second; null when there is none.
const StepRow* best_row(std::span<const StepRow> rows, std::string_view model, std::string_view peer) {
  const StepRow* best = nullptr;
  for (const StepRow& row : rows) {
    if (row.model != model || row.peer != peer) continue;
    if (best == nullptr || row.items_per_second.median > best->items_per_second.median) best = &row;
  }
  return best;
}

const StepRow* row_beside(std::span<const StepRow> rows, const StepRow& ours, std::string_view peer) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const StepRow& row) {
    return row.model == ours.model && row.threads == ours.threads && row.peer == peer;
  });
  return at == rows.end() ? nullptr : &*at;
}

// Each side with the number of threads that suits it; nothing where only one number was measured.
std::string best_line(std::span<const StepRow> rows, std::string_view model) {
  const auto count = std::count_if(rows.begin(), rows.end(), [&](const StepRow& row) {
    return row.model == model && row.peer == "hocket";
  });
  const StepRow* ours = best_row(rows, model, "hocket");
  const StepRow* theirs = best_row(rows, model, "torch");
  if (count < 2 || theirs == nullptr) return "";
  const std::string threads = fmt::format("best {}:{}", ours->threads, theirs->threads);
  const double ratio = ours->items_per_second.median / theirs->items_per_second.median;
  return line(*ours, theirs, threads, fmt::format("{:.2f}", ratio));
}

}  // namespace

std::string rows_as_json(std::span<const StepRow> rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const StepRow& row : rows) {
    json.push_back({{"model", row.model},
                    {"workers", 1},
                    {"threads", row.threads},
                    {"dtype", "f32"},
                    {"peer", row.peer},
                    {"items_per_second", row.items_per_second.median},
                    {"p10", row.items_per_second.p10},
                    {"p90", row.items_per_second.p90},
                    {"share_of_peak", row.share_of_peak},
                    {"unit", row.unit},
                    {"samples", row.samples}});
    if (!row.settings.empty()) json.back()["settings"] = nlohmann::ordered_json::parse(row.settings);
  }
  return json.dump(2) + '\n';
}

std::string rows_as_table(std::span<const StepRow> rows) {
  std::string text =
      fmt::format("{:<10}{:<11}{:<9}{:<30}{:<30}{:<22}{}\n", "model", "unit", "threads", "hocket (p10 - p90)",
                  "torch (p10 - p90)", "ratio (p10 - p90)", "share of peak");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepRow& row = rows[i];
    if (row.peer != "hocket") continue;
    const StepRow* theirs = row_beside(rows, row, "torch");
    text +=
        line(row, theirs, std::to_string(row.threads), theirs == nullptr ? "-" : ratio_text(row, *theirs));
    const bool ends_model = std::none_of(
        rows.begin() + static_cast<std::ptrdiff_t>(i) + 1, rows.end(),
        [&](const StepRow& later) { return later.peer == "hocket" && later.model == row.model; });
    if (ends_model) text += best_line(rows, row.model);
  }
  return text;
}

}  // namespace hocket
