// Gangs take turns, a time slot each: long slots amortise the switch. All slots end together, so that a large
// gang finds its slots free at once. At the end of a slot the job comes first that has run for the smallest
// part of its life: jobs that are there together get equal shares, whatever a switch took, newcomers start
// soon, and nobody starves, as the part of whoever waits goes to 0.

#include "jobs/policy.h"
#include "jobs/resize_jobs.h"
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
  Decisions decisions;
  JobOrder order;
  if (is_turn_due(state, options)) {
    order = state.waiting;
    order.insert(order.end(), state.running.begin(), state.running.end());
    order = ordered_by(state, options, std::move(order), useful_length(state, options),
                       [&](const ClusterJob& job) { return part_of_life(state, job, options); });
    decisions = take_turns(state, options, order);
  } else if (!state.waiting.empty()) {
    decisions.wake = next_slot(state.now, options);
  }
  if (state.waiting.empty()) resize_jobs(state, options, {}, decisions);
  return decisions;
}

}  // namespace hocket
