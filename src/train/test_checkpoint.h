#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "train/checkpoint_reader.h"
#include "train/named_tensor.h"

namespace hocket {

inline OwnPart whole_part(const std::string& name, const Tensor& tensor) {
  return {TensorPart::whole(name, tensor.dtype(), tensor.shape()), tensor};
}

// Every tensor of a checkpoint, whole, by name.
inline std::vector<NamedTensor> read_whole(const CheckpointReader& reader) {
  std::vector<NamedTensor> tensors;
  for (const TensorSpec& spec : reader.tensors()) {
    const Tensor tensor(spec.dtype, spec.shape);
    reader.read(TensorPart::whole(spec.name, spec.dtype, spec.shape), tensor.bytes());
    tensors.emplace_back(spec.name, tensor);
  }
  return tensors;
}

// One checkpoint with every byte of it checked.
inline CheckpointReader open_checkpoint(const std::filesystem::path& folder) {
  CheckpointReader reader(folder);
  reader.verify();
  return reader;
}

}  // namespace hocket
