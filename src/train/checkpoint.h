#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "train/tensor_part.h"

namespace hocket {

// A part of a tensor with its elements.
struct OwnPart {
  TensorPart part;
  Tensor data;  // Of shape part.own_shape().
};

// All that a run needs to go on as if it had never stopped. Tensors are named "param/NAME", "buffer/NAME" and
// "optimizer/SLOT/NAME"; random numbers need only the seed, as they are functions of (seed, step, …). A value
// type.
struct Checkpoint {
  std::vector<OwnPart> parts;  // That this rank speaks for: all ranks together have each element once.
  std::map<std::string, std::string> settings;
  std::string model;  // Fingerprint of the model's text.
  std::uint64_t seed = 0;
  std::int64_t step = 0;
  std::int64_t epoch = 0;
  std::int64_t position = 0;  // Samples of the epoch already used.
};

// A whole tensor.
struct TensorSpec {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  bool operator==(const TensorSpec&) const = default;
};

// Throws ConfigError with the first difference where the parameters ("param/NAME") among `found`, the tensors
// of a checkpoint, are not exactly `expected`, which are named without "param/".
void require_same_parameters(std::span<const TensorSpec> found, std::span<const TensorSpec> expected);

}  // namespace hocket
