// Gangs take turns, a time slot each: long slots amortise the switch. All slots end together, so that a large
// gang finds its slots free at once. At the end of a slot the job comes first that has run for the smallest
// part of its life: jobs that are there together get equal shares, whatever a switch took, newcomers start
// soon, and nobody starves, as the part of whoever waits goes to 0.

#include "jobs/policy.h"
#include "jobs/take_turns.h"

namespace hocket {
namespace {

double part_of_life(const ClusterState& state, const ClusterJob& job, const PolicyOptions& options) {
  const double ran = job.attained_at(state.now) / job.min_workers;
  const double life = state.now - job.submitted + std::max(0, job.priority) * options.level;
  return ran / (life + options.slot);
}

}  // namespace

Decisions decide_slots(const ClusterState& state, const PolicyOptions& options) {
  const auto key = [&](const ClusterJob& job) { return part_of_life(state, job, options); };
  return decide_turns(state, options, [&] { return order_of_all(state, options, key); });
}

}  // namespace hocket
