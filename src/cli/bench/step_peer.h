#pragma once

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "cli/bench/bench_job.h"
#include "cli/bench/step_loop.h"

namespace hocket {

// A contestant of `hocket bench step`: processes, one a worker, that stay alive, run steps together when they
// are asked to, and sleep otherwise. Used by one thread.
struct StepPeer {
  std::string name;
  std::string settings;                      // JSON; empty: nothing to say.
  std::unique_ptr<PeerProcess> coordinator;  // Of workers that need one.
  std::vector<std::unique_ptr<PeerProcess>> workers;
  int steps = 1;  // In a round.
  std::vector<double> items_per_second;

  // Lets every worker take so many steps. Returns the seconds of the slowest. Throws Error when one has
  // ended.
  double run(int steps);
  // Warms up and finds how many steps fill a round.
  void calibrate(double round_seconds);
  void end();  // Ranks leave their job together, so that nobody is missed.
};

// The processors of one of several workers: the last ones, as the first has the machine's interrupts to
// serve. Throws ConfigError when there are fewer.
std::vector<int> processors_of(int worker, int workers, int threads);

// The ranks of a job that run steps together, each pinned to processors of its own.
BenchJob start_step_job(const StepSetup& setup, int workers, int threads, TransportKind transport,
                        const std::function<void(Rank rank, StepLoop& loop)>& body);

// Processes that each run a step alone, and the ranks of a job that run it together.
StepPeer start_apart(std::string name, const StepSetup& setup, int workers, int threads);
StepPeer start_hocket_workers(const StepSetup& setup, int workers, int threads, TransportKind transport);

}  // namespace hocket
