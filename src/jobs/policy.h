#pragma once

#include <span>
#include <string>
#include <vector>

#include "jobs/cluster_state.h"

namespace hocket {

struct PolicyOptions {
  double slot = 600;            // Seconds of a time slot; preemption happens at its ends alone.
  double patience = 3 * 86400;  // Whoever has waited longer goes first, whatever the policy prefers.
  double level = 3600;          // Seconds of waiting that a level of priority is worth.
  int backfill_depth = 100;     // How many jobs behind the head are tried.
  double good_pair = 1.1;       // Two jobs that share slots must together be this fast.
  std::vector<double> queues{3600, 36000};  // Of las: worker seconds at which a job goes to the next queue.
};

// Positions are those of ClusterState::jobs.
struct JobStart {
  std::size_t job = 0;
  Allocation allocation;
  std::optional<JobId> host;
};

struct Decisions {
  std::vector<std::size_t> stops;      // Write a checkpoint and wait again.
  std::vector<JobStart> starts;        // Into slots that are free now, before any of `stops` has ended.
  std::vector<JobStart> resizes;       // Of running jobs: stop, and go on with this allocation.
  std::vector<std::size_t> renewals;   // Running jobs whose slot is over and that run on.
  std::vector<std::size_t> bad_pairs;  // Of `stops`: those that shared slots badly.
  std::optional<double> wake;          // Decide again then, even when nothing happens.

  bool change_nothing() const { return stops.empty() && starts.empty() && resizes.empty(); }
};

// A pure function: the same for the real cluster and the simulated one. Gangs start whole; no job starves.
struct Policy {
  const char* name;
  const char* summary;
  Decisions (*decide)(const ClusterState& state, const PolicyOptions& options);
};

std::span<const Policy> all_policies();
// Throws ConfigError that names the nearest one.
const Policy& find_policy(const std::string& name);

Decisions decide_fifo(const ClusterState& state, const PolicyOptions& options);
Decisions decide_sjf(const ClusterState& state, const PolicyOptions& options);
Decisions decide_fair(const ClusterState& state, const PolicyOptions& options);
Decisions decide_slots(const ClusterState& state, const PolicyOptions& options);
Decisions decide_las(const ClusterState& state, const PolicyOptions& options);
Decisions decide_pack(const ClusterState& state, const PolicyOptions& options);

}  // namespace hocket
