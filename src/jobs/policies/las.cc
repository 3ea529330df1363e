// Least attained service (Tiresias, NSDI'19): jobs fall from queue to queue as the worker seconds they have
// had pass the bounds; a higher queue goes first, within a queue whoever came first. So short jobs end early
// though nobody knows lengths, and long ones of a queue do not stop each other. Whoever is overdue goes
// before all.

#include "jobs/policy.h"
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
  const auto key = [&](const ClusterJob& job) { return queue_of(state, job, options); };
  return decide_turns(state, options, [&] { return order_of_all(state, options, key); });
}

}  // namespace hocket
