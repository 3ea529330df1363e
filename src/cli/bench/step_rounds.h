#pragma once

#include <string>
#include <vector>

#include "cli/bench/step_rows.h"
#include "cli/bench/torch_peers.h"

namespace hocket {

struct StepBenchOptions {
  std::vector<std::string> models;
  int workers = 1;
  std::vector<int> threads;                      // Of each worker.
  TransportKind transport = TransportKind::shm;  // Between our workers.
  double seconds = 7;                            // Of measuring, for each row.
  int rounds = 7;
  bool peers = false;
  std::string python;  // That has torch.
};

// Measures one model with one number of threads: one worker and, where the options say so, several. The
// peers' rounds alternate, each worker in a process of its own, pinned alike. The first row is ours. `say`
// receives remarks, such as a peer that is missing.
std::vector<StepRow> measure_step(const StepSetup& setup, int threads, const StepBenchOptions& options,
                                  const Remark& say);

}  // namespace hocket
