#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "cli/bench/statistics.h"
#include "cli/bench/step_loop.h"

namespace hocket {

struct StepBenchOptions {
  std::vector<std::string> models;
  std::vector<int> threads;
  double seconds = 7;  // Of measuring, for each row.
  int rounds = 7;
  bool peers = false;
  std::string python;  // That has torch.
};

// What one peer reached with one model: a row of `hocket bench step`.
struct StepRow {
  std::string model;
  int threads = 1;
  std::string peer;
  std::string unit;
  Spread items_per_second;
  double share_of_peak = 0;     // Of the f32 rate measured in the same rounds.
  std::vector<double> samples;  // Items per second of each round.
  std::string settings;         // What the peer chose, as it says it.
};

using Remark = std::function<void(const std::string&)>;

// Measures one model with one number of threads. The peers' rounds alternate, each peer in a process of its
// own, pinned alike. The first row is ours. `say` receives remarks, such as a peer that is missing.
std::vector<StepRow> measure_step(const StepSetup& setup, int threads, const StepBenchOptions& options,
                                  const Remark& say);

// Ours over the peer's, round by round.
Spread paired_ratio(const StepRow& ours, const StepRow& theirs);

}  // namespace hocket
