#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/bench/step_rows.h"

namespace hocket {

// A claim about several workers of ours that train a model together.
struct StepGoal {
  std::string model;
  std::string peer;  // They are `least` times as fast as it; empty: their efficiency is at least that.
  double least = 1;
};

std::vector<StepGoal> step_goals();

struct StepGoalResult {
  StepGoal goal;
  const StepRow* row = nullptr;  // Ours.
  Spread reached;

  bool holds() const { return reached.median >= goal.least; }
};

// The goals that some of the rows, which outlive them, speak of.
std::vector<StepGoalResult> judge(std::span<const StepRow> rows);

}  // namespace hocket
