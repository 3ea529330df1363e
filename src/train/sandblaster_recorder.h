#pragma once

#include "train/node_place.h"
#include "train/trainer.h"

namespace hocket {

// Leads a run under Sandblaster: gives the servers their first values, follows the coordinator, and tests and
// saves the parameters, every ten steps if not told otherwise. A step is an iteration of L-BFGS: as many as
// `steps` says, or else `epochs`, or a hundred; fewer where it converges. Throws what train() throws.
TrainResult record_for_sandblaster(const TrainOptions& options, TrainObserver& observer,
                                   const std::atomic<bool>& stop, const NodePlace& place);

}  // namespace hocket
