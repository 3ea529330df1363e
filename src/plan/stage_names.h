#pragma once

#include <span>
#include <string>

#include "plan/model_layers.h"

namespace hocket {

// The layers of stages as `--stages` wants them: "conv1,conv2|fc1,fc2". `ends` says behind which layer each
// stage ends. A scope that lies in one stage stands for all within it: "blocks.0" for all its layers.
std::string stage_names(const Graph& forward, std::span<const ModelLayer> layers, std::span<const int> ends);

}  // namespace hocket
