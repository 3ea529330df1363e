#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "tensor/shape.h"

namespace hocket::kernel {

// A loop over every position of a shape, with strided operands walking along. Neighbouring dimensions that
// lie evenly in memory for every operand are merged and dimensions of one element dropped, so that most loops
// of a model have one or two dimensions left. The innermost dimension is left to the caller: run by run.
template <std::size_t kOperands>
class LoopNest {
 public:
  using Strides = std::array<std::int64_t, Shape::kMaxRank>;  // In elements, per dimension.
  using Offsets = std::array<std::int64_t, kOperands>;

  LoopNest(const Shape& shape, const std::array<Strides, kOperands>& strides) {
    for (int axis = 0; axis < shape.rank(); ++axis) {
      Offsets step;
      for (std::size_t i = 0; i < kOperands; ++i) step[i] = strides[i][static_cast<std::size_t>(axis)];
      add(shape[axis], step);
    }
    if (rank_ == 0) add_dimension(1, {});
  }

  int rank() const { return rank_; }
  std::int64_t size(int axis) const { return sizes_[static_cast<std::size_t>(axis)]; }
  std::int64_t stride(std::size_t operand, int axis) const {
    return steps_[static_cast<std::size_t>(axis)][operand];
  }

  std::int64_t run_length() const { return size(rank_ - 1); }
  std::int64_t run_stride(std::size_t operand) const { return stride(operand, rank_ - 1); }
  std::int64_t runs() const {
    std::int64_t product = 1;
    for (int axis = 0; axis + 1 < rank_; ++axis) product *= size(axis);
    return product;
  }

  // Calls body(offsets) for the runs [begin, end): where each operand's run starts.
  template <typename Body>
  void for_runs(std::int64_t begin, std::int64_t end, const Body& body) const {
    std::array<std::int64_t, Shape::kMaxRank> index{};
    Offsets offsets{};
    std::int64_t rest = begin;
    for (int axis = rank_ - 2; axis >= 0; --axis) {
      index[static_cast<std::size_t>(axis)] = rest % size(axis);
      rest /= size(axis);
      move(offsets, axis, index[static_cast<std::size_t>(axis)]);
    }
    for (std::int64_t run = begin; run < end; ++run) {
      body(offsets);
      for (int axis = rank_ - 2; axis >= 0; --axis) {
        auto& position = index[static_cast<std::size_t>(axis)];
        move(offsets, axis, 1);
        if (++position < size(axis)) break;
        move(offsets, axis, -position);
        position = 0;
      }
    }
  }

 private:
  void add(std::int64_t size, const Offsets& step) {
    if (size == 1) return;
    if (rank_ > 0 && continues(size, step)) {
      sizes_[static_cast<std::size_t>(rank_ - 1)] *= size;
      steps_[static_cast<std::size_t>(rank_ - 1)] = step;
    } else {
      add_dimension(size, step);
    }
  }

  // Whether the last dimension steps over exactly one whole new dimension, for every operand.
  bool continues(std::int64_t size, const Offsets& step) const {
    for (std::size_t i = 0; i < kOperands; ++i) {
      if (steps_[static_cast<std::size_t>(rank_ - 1)][i] != size * step[i]) return false;
    }
    return true;
  }

  void add_dimension(std::int64_t size, const Offsets& step) {
    sizes_[static_cast<std::size_t>(rank_)] = size;
    steps_[static_cast<std::size_t>(rank_)] = step;
    ++rank_;
  }

  void move(Offsets& offsets, int axis, std::int64_t by) const {
    for (std::size_t i = 0; i < kOperands; ++i) offsets[i] += by * stride(i, axis);
  }

  int rank_ = 0;
  std::array<std::int64_t, Shape::kMaxRank> sizes_{};
  std::array<Offsets, Shape::kMaxRank> steps_{};
};

using ShapeStrides = std::array<std::int64_t, Shape::kMaxRank>;

// Of a row-major tensor.
inline ShapeStrides row_major(const Shape& shape) {
  ShapeStrides strides{};
  std::int64_t stride = 1;
  for (int axis = shape.rank() - 1; axis >= 0; --axis) {
    strides[static_cast<std::size_t>(axis)] = stride;
    stride *= shape[axis];
  }
  return strides;
}

// Of `shape` seen as `wider` by broadcasting: 0 along what is repeated.
inline ShapeStrides broadcast(const Shape& shape, const Shape& wider) {
  const ShapeStrides own = row_major(shape);
  const int missing = wider.rank() - shape.rank();
  ShapeStrides strides{};
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (shape[axis] != 1)
      strides[static_cast<std::size_t>(axis + missing)] = own[static_cast<std::size_t>(axis)];
  }
  return strides;
}

}  // namespace hocket::kernel
