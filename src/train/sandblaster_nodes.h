#pragma once

#include <atomic>

#include "train/node_place.h"
#include "train/options.h"

namespace hocket {

// The processes of a run under Sandblaster, but for the recorder: each until `stop`. They throw NetError, and
// a worker also ConfigError, DataError and Error (a loss that is not finite).
void run_sandblaster_server(const TrainOptions& options, const NodePlace& place,
                            const std::atomic<bool>& stop);
void run_sandblaster_coordinator(const TrainOptions& options, const NodePlace& place,
                                 const std::atomic<bool>& stop);
void work_for_sandblaster(const TrainOptions& options, const NodePlace& place, const std::atomic<bool>& stop);

}  // namespace hocket
