#pragma once

#include <optional>

#include "jobs/cluster_state.h"

namespace hocket {

// Where `workers` workers of `job` go, all or none of them. On one machine if any has room, the one that it
// leaves fullest; else, for a job whose workers send much, in as few racks and then machines as can be; else
// in the smallest gaps, so that large ones stay whole.
std::optional<Allocation> place_job(const FreeSlots& free, const ClusterJob& job, int workers,
                                    bool spans_machines);

// The same for the most workers between the job's min and max that have room.
std::optional<Allocation> place_most(const FreeSlots& free, const ClusterJob& job, bool spans_machines);

}  // namespace hocket
