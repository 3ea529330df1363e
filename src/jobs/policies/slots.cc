// Gangs take turns, a time slot each (checklist: long slots amortise the switch). All slots end together, so
// that a large gang finds its slots free at once. At the end of a slot whoever has waited longest comes
// first, then of those that ran whoever ran for the shorter time without a break.

#include "jobs/policy.h"
#include "jobs/resize_jobs.h"
#include "jobs/take_turns.h"

namespace hocket {
namespace {

// Waiting jobs before running ones; each by how long.
std::pair<int, double> turn_of(const ClusterState& state, const ClusterJob& job,
                               const PolicyOptions& options) {
  if (job.state == JobState::waiting) return {0, job.waiting_since - job.priority * options.level};
  return {1, state.now - job.started};
}

}  // namespace

Decisions decide_slots(const ClusterState& state, const PolicyOptions& options) {
  Decisions decisions;
  JobOrder order;
  if (is_turn_due(state, options)) {
    order = state.waiting;
    order.insert(order.end(), state.running.begin(), state.running.end());
    order = ordered_by(state, options, std::move(order),
                       [&](const ClusterJob& job) { return turn_of(state, job, options); });
    decisions = take_turns(state, options, order);
  } else if (!state.waiting.empty()) {
    decisions.wake = next_slot(state.now, options);
  }
  if (state.waiting.empty()) resize_jobs(state, options, {}, decisions);
  return decisions;
}

}  // namespace hocket
