#pragma once

#include <array>
#include <memory>

#include "base/error.h"
#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

namespace hocket::reference {

template <typename T>
T* operand(Buffers buffers, std::size_t index) {
  return reinterpret_cast<T*>(buffers[index]);
}

// The kernel that runs `body(T{}, in, out)`, where T is float or double as `dtype` says.
template <typename Body>
std::unique_ptr<Kernel> make_float_kernel(DType dtype, Body body) {
  if (dtype == DType::f64) return make_kernel([body](Buffers in, Buffers out) { body(double{}, in, out); });
  if (dtype == DType::f32) return make_kernel([body](Buffers in, Buffers out) { body(float{}, in, out); });
  throw ConfigError("this operator computes in f32 or f64, not in {}", name_of(dtype));
}

// The value of an element of any dtype, exactly, but for i64 beyond 2⁵³.
template <typename T>
double to_double(T value) {
  if constexpr (std::is_same_v<T, BFloat16> || std::is_same_v<T, Float16>) {
    return static_cast<float>(value);
  } else {
    return static_cast<double>(value);
  }
}

// Where the element (n, c, y, x) of an image lies.
struct ImageIndex {
  std::int64_t c, h, w;
  Layout layout;

  std::int64_t operator()(std::int64_t n, std::int64_t channel, std::int64_t y, std::int64_t x) const {
    if (layout == Layout::channels_last) return ((n * h + y) * w + x) * c + channel;
    return ((n * c + channel) * h + y) * w + x;
  }
};

// A position, or a step in memory, per dimension.
using Index = std::array<std::int64_t, Shape::kMaxRank>;

inline Index row_major_strides(const Shape& shape) {
  Index strides{};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// The steps in memory of `shape` seen as `wider` by broadcasting: 0 along what is repeated.
inline Index broadcast_strides(const Shape& shape, const Shape& wider) {
  const Index own = row_major_strides(shape);
  const int missing = wider.rank() - shape.rank();
  Index strides{};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1)
      strides[static_cast<std::size_t>(axis + missing)] = own[static_cast<std::size_t>(axis)];
  }
  return strides;
}

inline std::int64_t offset_of(const Index& index, const Index& strides) {
  std::int64_t offset = 0;
  for (std::size_t axis = 0; axis < index.size(); ++axis) offset += index[axis] * strides[axis];
  return offset;
}

// Calls `body(index)` for every position inside `shape`, in row-major order.
template <typename Body>
void for_each_index(const Shape& shape, Body body) {
  Index index{};
  for (std::int64_t left = shape.count(); left > 0; --left) {
    body(index);
    for (int axis = shape.rank() - 1; axis >= 0; --axis) {
      auto& position = index[static_cast<std::size_t>(axis)];
      if (++position < shape[axis]) break;
      position = 0;
    }
  }
}

}  // namespace hocket::reference
