#pragma once

#include "train/node_place.h"
#include "train/options.h"

namespace hocket {

// Trains as a worker of a parameter server: pulls parameters, computes the gradients of its slices and pushes
// them, until the run is over. A mesh with tp cuts its replica, whose ranks are threads of this process.
// Throws ConfigError, DataError, Error (a loss that is not finite), and NetError when the coordinator is gone
// for good.
void work_for_servers(const TrainOptions& options, const NodePlace& place);

}  // namespace hocket
