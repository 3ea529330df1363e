#pragma once

#include <string>
#include <utility>

#include "tensor/tensor.h"

namespace hocket {

// A whole tensor under its name, as checkpoints and hashes see it. Copies share storage.
using NamedTensor = std::pair<std::string, Tensor>;

}  // namespace hocket
