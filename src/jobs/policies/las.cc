// Least attained service (Tiresias, NSDI'19): jobs fall from queue to queue as the worker seconds they have
// had pass the bounds; a higher queue goes first, within a queue whoever came first. So short jobs end early
// though nobody knows lengths, and long ones of a queue do not stop each other. Whoever is overdue goes
// before all.

#include "jobs/policy.h"
#include "jobs/resize_jobs.h"
#include "jobs/take_turns.h"

namespace hocket {
namespace {

int queue_of(const ClusterState& state, const ClusterJob& job, const PolicyOptions& options) {
  if (is_overdue(state, job, options)) return -1;
  const double attained = job.attained_at(state.now);
  int queue = 0;
  for (const double bound : options.queues) queue += attained >= bound ? 1 : 0;
  return queue;
}

}  // namespace

Decisions decide_las(const ClusterState& state, const PolicyOptions& options) {
  Decisions decisions;
  if (is_turn_due(state, options)) {
    JobOrder order = state.waiting;
    order.insert(order.end(), state.running.begin(), state.running.end());
    order = ordered_by(state, options, std::move(order), useful_length(state, options),
                       [&](const ClusterJob& job) { return queue_of(state, job, options); });
    decisions = take_turns(state, options, order);
  } else if (!state.waiting.empty()) {
    decisions.wake = next_slot(state.now, options);
  }
  if (state.waiting.empty()) resize_jobs(state, options, {}, decisions);
  return decisions;
}

}  // namespace hocket
