#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "graph/graph.h"
#include "nn/optimizer.h"

namespace hocket {

// One node of a model's forward graph.
struct LayerDescription {
  std::string name;
  std::string op;
  std::string output;  // As in "f32[128,10]".
  std::int64_t parameters = 0;
};

// What a model costs, for batches of one size. Bytes are those of training on one worker.
struct ModelDescription {
  std::vector<LayerDescription> layers;
  std::int64_t parameters = 0;
  double forward_flops = 0;   // Of one sample.
  double training_flops = 0;  // Of one sample: forward, backward and its share of the update.
  std::size_t parameter_bytes = 0;
  std::size_t gradient_bytes = 0;
  std::size_t optimizer_bytes = 0;
  std::size_t buffer_bytes = 0;
  std::size_t activation_bytes = 0;

  std::size_t total_bytes() const {
    return parameter_bytes + gradient_bytes + optimizer_bytes + buffer_bytes + activation_bytes;
  }
};

// Plans a training step of the model and allocates nothing of what it would need. Throws ConfigError when the
// graph cannot be differentiated.
ModelDescription describe_model(const Graph& forward, const OptimizerSpec& optimizer, std::int64_t batch);

}  // namespace hocket
