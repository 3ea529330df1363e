// First come, first served; a level of priority is worth an hour of having come earlier. Behind a head that
// does not fit, jobs that do not delay it may pass.

#include "jobs/policy.h"
#include "jobs/resize_jobs.h"
#include "jobs/start_jobs.h"

namespace hocket {

Decisions decide_fifo(const ClusterState& state, const PolicyOptions& options) {
  Decisions decisions;
  const JobOrder& waiting = state.waiting;
  start_with_backfill(state, waiting, options, decisions);
  resize_jobs(state, options, waiting, decisions);
  return decisions;
}

}  // namespace hocket
