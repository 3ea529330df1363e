#pragma once

#include <string>

#include "train/options.h"

namespace hocket {

// What `--stages measured` stands for: the stages that hocket plan would find for the run's mesh, schedule
// and micro-batches, measured now. Throws ConfigError where there are none.
std::string measured_stages(const TrainOptions& options);

// Whether the options ask for them.
bool wants_measured_stages(const TrainOptions& options);

}  // namespace hocket
