#include "jobs/cluster_state.h"

#include <algorithm>
#include <limits>

#include "jobs/place_job.h"

namespace hocket {

FreeSlots::FreeSlots(const std::vector<ClusterMachine>& machines) : all_(&machines) {
  for (const ClusterMachine& machine : machines) {
    slots_.push_back(machine.slots);
    memory_.push_back(machine.memory_bytes == 0 ? std::numeric_limits<std::int64_t>::max() / 2
                                                : machine.memory_bytes);
    if (machine.is_present) total_ += machine.slots;
  }
}

void FreeSlots::change(const ClusterJob& job, const Allocation& allocation, int sign) {
  for (const JobShare& share : allocation) {
    const auto at = static_cast<std::size_t>(share.machine);
    memory_[at] += sign * share.workers * job.memory_bytes;
    if (job.host) continue;
    slots_[at] += sign * share.workers;
    if ((*all_)[at].is_present) total_ += sign * share.workers;
  }
}

int FreeSlots::room(std::size_t index, const ClusterJob& job) const {
  if (!(*all_)[index].is_present) return 0;
  if (job.memory_bytes == 0) return slots_[index];
  return static_cast<int>(std::min<std::int64_t>(slots_[index], memory_[index] / job.memory_bytes));
}

bool FreeSlots::holds(const ClusterJob& job, const Allocation& allocation) const {
  return std::all_of(allocation.begin(), allocation.end(), [&](const JobShare& share) {
    const auto at = static_cast<std::size_t>(share.machine);
    return memory_[at] >= share.workers * job.memory_bytes && (job.host || slots_[at] >= share.workers);
  });
}

int ClusterState::total_slots() const {
  int slots = 0;
  for (const ClusterMachine& machine : machines) slots += machine.slots;
  return slots;
}

FreeSlots ClusterState::free_slots() const {
  FreeSlots free(machines);
  for (const std::size_t index : running) free.take(jobs[index], jobs[index].allocation);
  return free;
}

bool could_ever_run(const ClusterState& state, const ClusterJob& job) {
  std::vector<ClusterMachine> machines = state.machines;
  for (ClusterMachine& machine : machines) machine.is_present = true;
  return place_job(FreeSlots(machines), job, job.min_workers, state.spans_machines).has_value();
}

}  // namespace hocket
