#include "cli/bench/step_goals.h"

#include <optional>

namespace hocket {
namespace {

std::optional<Spread> reached_by(std::span<const StepRow> rows, const StepRow& row, const StepGoal& goal) {
  if (row.peer != "hocket" || row.workers == 1 || row.model != goal.model) return std::nullopt;
  if (goal.peer.empty()) return scaling_efficiency(rows, row);
  const StepRow* theirs = find_beside(rows, row, row.workers, goal.peer);
  if (theirs == nullptr) return std::nullopt;
  return paired_ratio(row, *theirs);
}

}  // namespace

std::vector<StepGoal> step_goals() {
  std::vector<StepGoal> goals;
  for (const char* model : {"mlp", "lenet", "resnet20", "gpt"}) goals.push_back({model, "", 0.9});
  goals.insert(goals.end(), {{"mlp", "torch-ddp", 3},
                             {"lenet", "torch-ddp", 2},
                             {"resnet20", "torch-ddp", 1.7},
                             {"gpt", "torch-ddp", 1.5}});
  return goals;
}

std::vector<StepGoalResult> judge(std::span<const StepRow> rows) {
  std::vector<StepGoalResult> results;
  for (const StepGoal& goal : step_goals()) {
    for (const StepRow& row : rows) {
      if (const std::optional<Spread> reached = reached_by(rows, row, goal)) {
        results.push_back({goal, &row, *reached});
      }
    }
  }
  return results;
}

}  // namespace hocket
