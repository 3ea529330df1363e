#include "cli/bench/step_table.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/bench/step_goals.h"
#include "cli/units.h"

namespace hocket {
namespace {

std::string rate_text(const Spread& rate) {
  const auto whole = [](double value) { return count_text(std::llround(value)); };
  return fmt::format("{:>9} ({} - {})", whole(rate.median), whole(rate.p10), whole(rate.p90));
}

std::string line(const StepRow& row, const std::string& threads, const std::string& ratio) {
  return fmt::format("{:<10}{:<11}{:<9}{:<9}{:<12}{:<30}{:<22}{:>6.0f} %\n", row.model, row.unit, row.workers,
                     threads, row.peer, rate_text(row.items_per_second), ratio, 100 * row.share_of_peak);
}

std::string ratio_text(const Spread& ratio) {
  return fmt::format("{:.2f} ({:.2f} - {:.2f})", ratio.median, ratio.p10, ratio.p90);
}

// Of the rows of one peer for one model, the one with the most items per second; null when there is none.
const StepRow* best_row(std::span<const StepRow> rows, std::string_view model, std::string_view peer) {
  const StepRow* best = nullptr;
  for (const StepRow& row : rows) {
    if (row.model != model || row.workers != 1 || row.peer != peer) continue;
    if (best == nullptr || row.items_per_second.median > best->items_per_second.median) best = &row;
  }
  return best;
}

std::string row_line(std::span<const StepRow> rows, const StepRow& row) {
  if (row.peer == "hocket") return line(row, std::to_string(row.threads), "");
  const StepRow* ours = find_beside(rows, row, row.workers, "hocket");
  HOCKET_CHECK(ours != nullptr, "a peer's row without ours");
  return line(row, std::to_string(row.threads), ratio_text(paired_ratio(*ours, row)));
}

// Each side with the number of threads that suits it; nothing where only one number was measured.
std::string best_lines(std::span<const StepRow> rows, std::string_view model) {
  const auto count = std::count_if(rows.begin(), rows.end(), [&](const StepRow& row) {
    return row.model == model && row.workers == 1 && row.peer == "hocket";
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

std::string efficiency_lines(std::span<const StepRow> rows, std::string_view model) {
  std::string text;
  for (const StepRow& row : rows) {
    if (row.model != model) continue;
    if (const std::optional<Spread> efficiency = scaling_efficiency(rows, row)) {
      text += fmt::format("{:<10}{} workers of {} reach {} of {} times one worker's rate\n", row.model,
                          row.workers, row.peer, ratio_text(*efficiency), row.workers);
    }
  }
  return text;
}

std::string goal_line(const StepGoalResult& result) {
  const StepGoal& goal = result.goal;
  const std::string claim = goal.peer.empty() ? fmt::format("efficiency at least {:.2f}", goal.least)
                                              : fmt::format("{:.1f} times {}", goal.least, goal.peer);
  return fmt::format("  {:<5} {:<10}{} workers: {}: {}\n", result.holds() ? "holds" : "FAILS", goal.model,
                     result.row->workers, claim, ratio_text(result.reached));
}

}  // namespace

std::string rows_as_json(std::span<const StepRow> rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const StepRow& row : rows) {
    json.push_back({{"model", row.model},
                    {"workers", row.workers},
                    {"threads", row.threads},
                    {"dtype", "f32"},
                    {"peer", row.peer},
                    {"items_per_second", row.items_per_second.median},
                    {"p10", row.items_per_second.p10},
                    {"p90", row.items_per_second.p90},
                    {"share_of_peak", row.share_of_peak},
                    {"unit", row.unit},
                    {"samples", row.samples}});
    if (const auto efficiency = scaling_efficiency(rows, row)) json.back()["efficiency"] = efficiency->median;
    if (!row.settings.empty()) json.back()["settings"] = nlohmann::ordered_json::parse(row.settings);
  }
  return json.dump(2) + '\n';
}

std::string rows_as_table(std::span<const StepRow> rows) {
  std::string text = fmt::format("{:<10}{:<11}{:<9}{:<9}{:<12}{:<30}{:<22}{}\n", "model", "unit", "workers",
                                 "threads", "peer", "items/s (p10 - p90)", "ours / theirs", "of peak");
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const StepRow& row = rows[i];
    text += row_line(rows, row);
    const bool ends_model = i + 1 == rows.size() || rows[i + 1].model != row.model;
    if (ends_model) text += best_lines(rows, row.model) + efficiency_lines(rows, row.model);
  }
  const std::vector<StepGoalResult> goals = judge(rows);
  if (!goals.empty()) text += "\ngoals:\n";
  for (const StepGoalResult& goal : goals) text += goal_line(goal);
  return text;
}

}  // namespace hocket
