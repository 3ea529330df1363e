#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "jobs/cluster_job.h"

namespace hocket {

// A machine as a leaf of the topology tree: cluster, racks, machines.
struct ClusterMachine {
  std::string name;
  int slots = 1;
  std::int64_t memory_bytes = 0;  // 0: not limited.
  int rack = 0;
  bool is_present = true;  // Else nothing is started there.
};

// What is free on each machine. A value type, so that a policy can try things out.
class FreeSlots {
 public:
  explicit FreeSlots(const std::vector<ClusterMachine>& machines);

  void take(const ClusterJob& job, const Allocation& allocation) { change(job, allocation, -1); }
  void give_back(const ClusterJob& job, const Allocation& allocation) { change(job, allocation, +1); }
  bool holds(const ClusterJob& job, const Allocation& allocation) const;

  int total() const { return total_; }  // Slots of machines that are present.
  // How many workers of `job` machine `index` could take.
  int room(std::size_t index, const ClusterJob& job) const;
  std::size_t machines() const { return slots_.size(); }
  int rack(std::size_t index) const { return (*all_)[index].rack; }

 private:
  void change(const ClusterJob& job, const Allocation& allocation, int sign);

  const std::vector<ClusterMachine>* all_;
  std::vector<int> slots_;
  std::vector<std::int64_t> memory_;
  int total_ = 0;
};

// All that a policy may look at. `waiting` and `running` are positions in `jobs`, in the order in which they
// came, with what their priorities are worth (arrival() in job_order.h); `running` has those that are
// stopping, too.
struct ClusterState {
  double now = 0;
  std::vector<ClusterMachine> machines;
  std::vector<ClusterJob> jobs;
  std::vector<std::size_t> waiting;
  std::vector<std::size_t> running;
  bool spans_machines = true;  // One job may run on several machines.

  int total_slots() const;
  FreeSlots free_slots() const;  // What no job holds.
};

// Whether an empty cluster could run it, machines that are absent for now included.
bool could_ever_run(const ClusterState& state, const ClusterJob& job);

}  // namespace hocket
