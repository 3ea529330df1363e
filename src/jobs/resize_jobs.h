#pragma once

#include "jobs/job_order.h"

namespace hocket {

// Adds to `decisions`, where they stop nobody, what elastic jobs do: while `head` waits for room they shrink
// towards their min if that lets it in, and while nobody waits they grow into what is free. Each at most once
// a time slot, as it costs a checkpoint.
void resize_jobs(const ClusterState& state, const PolicyOptions& options, const JobOrder& waiting,
                 Decisions& decisions);

}  // namespace hocket
