#pragma once

#include <vector>

#include "tensor/kernel.h"
#include "tensor/tensor.h"

namespace hocket::reference {

// Runs a kernel that needs no scratch memory on whole tensors: how the tests call the naive kernels.
inline void run_kernel(const Kernel& kernel, const std::vector<Tensor>& in,
                       const std::vector<Tensor>& out = {}) {
  std::vector<std::byte*> inputs, outputs;
  for (const Tensor& tensor : in) inputs.push_back(tensor.bytes().data());
  for (const Tensor& tensor : out) outputs.push_back(tensor.bytes().data());
  kernel.run(inputs, outputs, nullptr);
}

template <typename T>
std::vector<T> elements(const Tensor& tensor) {
  return {tensor.values<T>().begin(), tensor.values<T>().end()};
}

}  // namespace hocket::reference
