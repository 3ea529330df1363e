#pragma once

#include <atomic>

#include "train/trainer.h"

namespace hocket {

bool is_hogwild(const TrainOptions& options);

// Trains by --sync hogwild: options.workers threads of this process take samples as they can, and read and
// write one set of parameters without locks. The samples of a batch go once each, in any order. Writes
// checkpoints below options.out and leaves the threads' spans there (node_spans.h). When `stop` becomes true
// it ends the batch and returns with interrupted set. Throws ConfigError, DataError, or Error, as where the
// loss is no longer finite.
TrainResult train_hogwild(const TrainOptions& options, TrainObserver& observer,
                          const std::atomic<bool>& stop);

}  // namespace hocket
