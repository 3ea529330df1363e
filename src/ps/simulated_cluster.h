#pragma once

#include <string>
#include <vector>

#include "ps/consistency.h"
#include "ps/simulated_network.h"
#include "ps/timing.h"
#include "ps/worker.h"

namespace hocket {

// How often things break, per second of virtual time, and for how long at most.
struct ClusterFaults {
  double server_kills = 0.5;
  double worker_kills = 0.3;
  double coordinator_kills = 0.2;
  double partitions = 0.3;
  double moves = 0.15;  // Servers that join or leave.
  Seconds longest_restart{1.5};
  Seconds longest_coordinator_restart{0.4};
  Seconds longest_partition{1.5};
  Seconds until{4.0};
  MessageFaults messages{};
};

struct SimulationOptions {
  std::uint64_t seed = 1;
  int servers = 3;
  int workers = 3;
  int ranges = 3;
  int replicas = 2;  // With one, no server is killed: nothing could be left of it.
  std::int64_t batches = 100;
  MakeConsistency make_consistency;
  WorkerOptions worker{};   // What the discipline says.
  Seconds compute{0.03};    // On average; each differs by up to half of it.
  Seconds patience{120.0};  // After which a run that has not ended is a failure.
  ClusterTiming timing{};
  ClusterFaults faults{};
};

struct SimulationReport {
  std::uint64_t seed = 0;
  int server_kills = 0;
  int worker_kills = 0;
  int coordinator_kills = 0;
  int partitions = 0;
  int moves = 0;
  std::int64_t messages = 0;
  std::int64_t lost = 0;
  std::int64_t duplicated = 0;
  std::int64_t acknowledged = 0;     // Gradients.
  std::vector<double> recoveries{};  // Seconds in which a range acknowledged nothing, after each kill.
  double seconds = 0;                // Virtual.
  std::vector<std::string> violations{};
};

// Runs servers, workers, coordinator and recorder in one thread under virtual time, with faults that are a
// function of the seed, and says what was violated. Servers that die lose everything, the coordinator's disk
// stays. Never is the last replica of a range killed.
SimulationReport simulate_ps(const SimulationOptions& options);

}  // namespace hocket
