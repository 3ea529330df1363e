#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "cli/bench/statistics.h"

namespace hocket {

// What one peer reached with one model: a row of `hocket bench step`.
struct StepRow {
  std::string model;
  int workers = 1;
  int threads = 1;  // Of each worker.
  std::string peer;
  std::string unit;
  Spread items_per_second;      // Of all workers together.
  double share_of_peak = 0;     // Of the f32 rate measured in the same rounds.
  std::vector<double> samples;  // Items per second of each round.
  std::string settings;         // What the peer chose, as it says it.
};

// The row of another peer, or of another number of workers, for the model and threads of `row`; null when
// there is none.
const StepRow* find_beside(std::span<const StepRow> rows, const StepRow& row, int workers,
                           std::string_view peer);

// Ours over the peer's, round by round.
Spread paired_ratio(const StepRow& ours, const StepRow& theirs);

// What several workers reach over what so many would who need not agree: the rate of the one worker in the
// same rounds, times their number. Nothing for a row of one worker, or without the row of the one beside it.
std::optional<Spread> scaling_efficiency(std::span<const StepRow> rows, const StepRow& row);

}  // namespace hocket
