// The job with the least left first, without preemption. Whoever is overdue goes before, in the order of
// coming: then it is the head, which backfill never delays, so it starts.

#include "jobs/policy.h"
#include "jobs/resize_jobs.h"
#include "jobs/start_jobs.h"

namespace hocket {
namespace {

int free_slots(const ClusterState& state) {
  int free = state.total_slots();
  for (const std::size_t index : state.running) free -= state.jobs[index].workers();
  return std::max(0, free);
}

}  // namespace

Decisions decide_sjf(const ClusterState& state, const PolicyOptions& options) {
  Decisions decisions;
  if (state.waiting.empty()) {
    resize_jobs(state, options, {}, decisions);
    return decisions;
  }
  const std::size_t length = static_cast<std::size_t>(free_slots(state) + options.backfill_depth) +
                             1;  // The others cannot start now.
  const JobOrder waiting = ordered_by(state, options, state.waiting, length, [&](const ClusterJob& job) {
    return is_overdue(state, job, options) ? -1.0 : job.left_at(state.now);
  });
  start_with_backfill(state, waiting, options, decisions);
  resize_jobs(state, options, waiting, decisions);
  return decisions;
}

}  // namespace hocket
