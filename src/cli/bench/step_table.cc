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

std::string line(const StepRow& row, const std::string& threads, const std::string& ratio) {
  return fmt::format("{:<10}{:<11}{:<9}{:<12}{:<30}{:<22}{:>6.0f} %\n", row.model, row.unit, threads,
                     row.peer, rate_text(row.items_per_second), ratio, 100 * row.share_of_peak);
}

std::string ratio_text(const StepRow& ours, const StepRow& theirs) {
  const Spread ratio = paired_ratio(ours, theirs);
  return fmt::format("{:.2f} ({:.2f} - {:.2f})", ratio.median, ratio.p10, ratio.p90);
}

// Of the rows of one peer for one model, the one with the most items per second; null when there is none.
const StepRow* best_row(std::span<const StepRow> rows, std::string_view model, std::string_view peer) {
  const StepRow* best = nullptr;
  for (const StepRow& row : rows) {
    if (row.model != model || row.peer != peer) continue;
    if (best == nullptr || row.items_per_second.median > best->items_per_second.median) best = &row;
  }
  return best;
}

const StepRow& row_beside(std::span<const StepRow> rows, const StepRow& theirs) {
  const auto at = std::find_if(rows.begin(), rows.end(), [&](const StepRow& row) {
    return row.model == theirs.model && row.threads == theirs.threads && row.peer == "hocket";
  });
  HOCKET_CHECK(at != rows.end(), "a peer's row without ours");
  return *at;
}

// Each side with the number of threads that suits it; nothing where only one number was measured.
std::string best_lines(std::span<const StepRow> rows, std::string_view model) {
  const auto count = std::count_if(rows.begin(), rows.end(), [&](const StepRow& row) {
    return row.model == model && row.peer == "hocket";
  });
  if (count < 2) return "";
  const StepRow* ours = best_row(rows, model, "hocket");
  std::string text = line(*ours, fmt::format("best: {}", ours->threads), "");
  for (const std::string_view peer : {"torch", "torch-best"}) {
    const StepRow* theirs = best_row(rows, model, peer);
    if (theirs == nullptr) continue;
    const double ratio = ours->items_per_second.median / theirs->items_per_second.median;
    text += line(*theirs, fmt::format("best: {}", theirs->threads), fmt::format("{:.2f}", ratio));
  }
  return text;
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
  std::string text = fmt::format("{:<10}{:<11}{:<9}{:<12}{:<30}{:<22}{}\n", "model", "unit", "threads",
                                 "peer", "items/s (p10 - p90)", "ours / theirs", "of peak");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepRow& row = rows[i];
    const std::string ratio = row.peer == "hocket" ? "" : ratio_text(row_beside(rows, row), row);
    text += line(row, std::to_string(row.threads), ratio);
    const bool ends_model = i + 1 == rows.size() || rows[i + 1].model != row.model;
    if (ends_model) text += best_lines(rows, row.model);
  }
  return text;
}

}  // namespace hocket
