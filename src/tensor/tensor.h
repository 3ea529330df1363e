#pragma once

#include <memory>
#include <span>
#include <vector>

#include "tensor/arena.h"
#include "tensor/dtype.h"
#include "tensor/shape.h"

namespace hocket {

// A dense tensor in canonical (row-major) order whose storage is shared between copies. This is how whole
// tensors travel outside a step: initial weights, checkpoints, data in memory, tests. Inside a step kernels
// take pointers.
class Tensor {
 public:
  Tensor() = default;
  Tensor(DType dtype, const Shape& shape);  // Zeroed storage of its own.
  // A view of `bytes`, kept alive by `owner` (which may be null where the caller guarantees the lifetime).
  Tensor(DType dtype, const Shape& shape, std::byte* bytes, std::shared_ptr<const void> owner);

  template <typename T>
  static Tensor of(const Shape& shape, const std::vector<T>& values);

  DType dtype() const { return dtype_; }
  const Shape& shape() const { return shape_; }
  std::int64_t count() const { return shape_.count(); }
  std::size_t byte_size() const { return static_cast<std::size_t>(count()) * size_of(dtype_); }
  std::span<std::byte> bytes() const { return {data_, byte_size()}; }

  template <typename T>
  std::span<T> values() const {
    return {reinterpret_cast<T*>(data_), static_cast<std::size_t>(count())};
  }

 private:
  DType dtype_ = DType::f32;
  Shape shape_{0};
  std::byte* data_ = nullptr;
  std::shared_ptr<const void> owner_;
};

template <typename T>
Tensor Tensor::of(const Shape& shape, const std::vector<T>& values) {
  DType dtype = DType::f32;
  if constexpr (std::is_same_v<T, double>) dtype = DType::f64;
  if constexpr (std::is_same_v<T, std::int32_t>) dtype = DType::i32;
  if constexpr (std::is_same_v<T, std::int64_t>) dtype = DType::i64;
  if constexpr (std::is_same_v<T, std::uint8_t>) dtype = DType::u8;
  Tensor tensor(dtype, shape);
  std::copy(values.begin(), values.end(), tensor.values<T>().begin());
  return tensor;
}

}  // namespace hocket
