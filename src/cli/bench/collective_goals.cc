#include "cli/bench/collective_goals.h"

#include <algorithm>

namespace hocket {
namespace {

constexpr std::size_t kKiB = 1 << 10;
constexpr std::size_t kMiB = 1 << 20;

bool speaks_of(const CollectiveGoal& goal, const CollectiveRow& row) {
  return row.peer == "hocket" && row.collective == "all_reduce" && row.transport == goal.transport &&
         row.bytes >= goal.least_bytes && row.bytes <= goal.most_bytes &&
         std::find(goal.ranks.begin(), goal.ranks.end(), row.ranks) != goal.ranks.end();
}

}  // namespace

std::vector<CollectiveGoal> collective_goals() {
  return {
      {"shm", {2}, 4, 4, "gloo", 50},
      {"shm", {2}, 4, 4, "openmpi", 1 / 1.5},
      {"shm", {2}, kMiB, 16 * kMiB, "gloo", 8},
      {"shm", {2}, kMiB, 16 * kMiB, "openmpi", 3},
      {"shm", {4, 8}, kKiB, kKiB, "openmpi", 1.4},
      {"shm", {4, 8}, 64 * kKiB, 16 * kMiB, "openmpi", 2},
      {"tcp", {2}, kMiB, 16 * kMiB, "openmpi-tcp", 1.2},
      {"tcp", {2}, kMiB, 16 * kMiB, "gloo", 1.5},
  };
}

std::vector<GoalResult> judge(std::span<const CollectiveRow> rows) {
  std::vector<GoalResult> results;
  for (CollectiveGoal& goal : collective_goals()) {
    GoalResult result;
    for (const CollectiveRow& row : rows) {
      if (!speaks_of(goal, row)) continue;
      const CollectiveRow* theirs = row_beside(rows, row, goal.peer);
      if (theirs == nullptr) continue;
      const Spread ratio = paired_ratio(row, *theirs);
      if (result.worst != nullptr && ratio.median >= result.ratio.median) continue;
      result.worst = &row;
      result.ratio = ratio;
    }
    if (result.worst == nullptr) continue;
    result.goal = std::move(goal);
    results.push_back(std::move(result));
  }
  return results;
}

}  // namespace hocket
