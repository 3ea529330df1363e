#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "cli/bench/collective_rounds.h"

namespace hocket {

// A claim about rows of ours: at these sizes a peer takes at least `ratio` times as long.
struct CollectiveGoal {
  std::string transport;
  std::vector<int> ranks;
  std::size_t least_bytes = 0;
  std::size_t most_bytes = 0;
  std::string peer;
  double ratio = 1;
};

// What we claim of all-reduce by `auto` in place.
std::vector<CollectiveGoal> collective_goals();

struct GoalResult {
  CollectiveGoal goal;
  const CollectiveRow* worst = nullptr;  // Of ours, the one with the least ratio.
  Spread ratio;                          // Its own.

  bool holds() const { return ratio.median >= goal.ratio; }
};

// The goals that some of the rows, which outlive them, speak of.
std::vector<GoalResult> judge(std::span<const CollectiveRow> rows);

}  // namespace hocket
