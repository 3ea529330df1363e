#pragma once

#include <functional>
#include <vector>

#include "jobs/job_trace.h"
#include "jobs/policy.h"

namespace hocket {

struct JobSimulationOptions {
  std::vector<ClusterMachine> machines;
  PolicyOptions policy;
  double switch_cost = 30;  // Seconds from the start of a suspended job until it makes progress.
  double trial = 60;        // Seconds until the paces of two jobs that share slots are known.
  // Called with every state that a policy has brought about, for tests.
  std::function<void(const ClusterState& state)> observer;
};

struct JobOutcome {
  double submitted = 0, first_start = 0, finish = 0, length = 0;
  int workers = 1;
  int preemptions = 0;

  double completion() const { return finish - submitted; }
};

// How many slots were held and how many jobs waited, from `time` on.
struct ClusterLoad {
  double time = 0;
  int busy = 0;
  int waiting = 0;
};

struct JobSimulation {
  std::vector<JobOutcome> outcomes;  // In the order of the trace.
  std::vector<ClusterLoad> loads;
  double useful_seconds = 0;  // Worker seconds of progress.
  double held_seconds = 0;    // Slot seconds that jobs held: progress, switches, and what sharing lost.
  double end = 0;
  int preemptions = 0, resizes = 0, shared_starts = 0;
  double racks_per_gang = 0;  // Mean over the starts of jobs with more than one worker.
  int decisions = 0;
};

// Replays `trace` under `policy` on a modelled cluster, with the very function that the real one runs. Two
// jobs that share slots each run at min(1, 1 / (a + b)), where a, b in [0.3, 1) are how busy each keeps its
// slots alone (by its id: a model). Throws DataError for a job larger than the cluster.
JobSimulation simulate_jobs(const JobTrace& trace, const Policy& policy, const JobSimulationOptions& options);

}  // namespace hocket
