// The job with the least left first, without preemption. Whoever is overdue goes before, in the order of
// coming: then it is the head, which backfill never delays, so it starts.

#include "jobs/policy.h"
#include "jobs/resize_jobs.h"
#include "jobs/start_jobs.h"

namespace hocket {

Decisions decide_sjf(const ClusterState& state, const PolicyOptions& options) {
  Decisions decisions;
  const JobOrder waiting = ordered_by(state, options, state.waiting, [&](const ClusterJob& job) {
    return is_overdue(state, job, options) ? -1.0 : job.left_at(state.now);
  });
  start_with_backfill(state, waiting, options, decisions);
  resize_jobs(state, options, waiting, decisions);
  return decisions;
}

}  // namespace hocket
