#pragma once

#include "train/node_place.h"
#include "train/trainer.h"

namespace hocket {

// Leads a run with a parameter server: gives the servers their first values, follows their progress, tests
// the parameters on the held-out data, writes checkpoints below options.out, and ends the run. When `stop`
// becomes true it does so early, with interrupted set. Throws what train() throws.
TrainResult record_for_servers(const TrainOptions& options, TrainObserver& observer,
                               const std::atomic<bool>& stop, const NodePlace& place);

}  // namespace hocket
