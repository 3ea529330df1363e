#pragma once

#include <cstdint>
#include <memory>

#include "data/dataset.h"
#include "graph/graph.h"
#include "plan/model_profile.h"
#include "train/options.h"

namespace hocket {

// A model measured on this machine, on real samples of its data.
struct MeasuredModel {
  std::unique_ptr<Graph> forward;  // For one sample.
  ModelProfile profile;
  std::vector<std::int64_t> batches;  // That were measured.
  int threads = 1;
};

// Times every node of training steps with up to `most_samples` samples at once, and with a few fewer, and
// adds them up by layer. The weights stay as they are. `options` are with_defaults(). Throws ConfigError when
// the model does not fit the data or cannot be cut.
MeasuredModel measure_model(const TrainOptions& options, const Dataset& data, std::int64_t most_samples);

}  // namespace hocket
