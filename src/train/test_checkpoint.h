#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

#include "train/checkpoint_reader.h"
#include "train/named_tensor.h"

namespace hocket {

inline std::string read_text(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

inline void write_text(const std::filesystem::path& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

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

// Of two lists of the same f64 tensors; infinite where they are not, or there are none.
template <typename T>
double largest_difference(std::span<const T> a, std::span<const T> b) {
  double largest = a.size() == b.size() ? 0 : INFINITY;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
    largest = std::max(largest, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
  return largest;
}

inline double largest_difference(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  double largest = a.empty() || a.size() != b.size() ? INFINITY : 0;
  for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i) {
    const Tensor &x = a[i].second, &y = b[i].second;
    if (x.dtype() != y.dtype()) return INFINITY;
    largest = std::max(largest, x.dtype() == DType::f64
                                    ? largest_difference<double>(x.values<double>(), y.values<double>())
                                    : largest_difference<float>(x.values<float>(), y.values<float>()));
  }
  return largest;
}

// One checkpoint with every byte of it checked.
inline CheckpointReader open_checkpoint(const std::filesystem::path& folder) {
  CheckpointReader reader(folder);
  reader.verify();
  return reader;
}

}  // namespace hocket
