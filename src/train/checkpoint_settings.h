#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "train/checkpoint.h"
#include "train/options.h"

namespace hocket {

// Settings that must not change when a run is resumed, as its checkpoints keep them: all that the mathematics
// depends on, but not how many workers there are or how they divide the work.
std::map<std::string, std::string> settings_of(const TrainOptions& options);

// Throws ConfigError with the first setting in which the run that left the checkpoint differs.
void require_same_settings(const Checkpoint& checkpoint, const TrainOptions& options);

// How far the run had come by one of its counters; 0 where the checkpoint does not say.
std::int64_t progress_of(const Checkpoint& checkpoint, const std::string& counter);

}  // namespace hocket
