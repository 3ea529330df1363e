#include "tensor/reference/shape.h"

#include <algorithm>
#include <cstring>
#include <limits>

#include "tensor/reference/operands.h"

namespace hocket::reference {
namespace {

// The kernel that runs `body(Word{}, in, out)`, where Word has the size of an element: moving needs no
// arithmetic.
template <typename Body>
std::unique_ptr<Kernel> make_move_kernel(DType dtype, Body body) {
  switch (size_of(dtype)) {
    case 1: return make_kernel([body](Buffers in, Buffers out) { body(std::uint8_t{}, in, out); });
    case 2: return make_kernel([body](Buffers in, Buffers out) { body(std::uint16_t{}, in, out); });
    case 4: return make_kernel([body](Buffers in, Buffers out) { body(std::uint32_t{}, in, out); });
    default: return make_kernel([body](Buffers in, Buffers out) { body(std::uint64_t{}, in, out); });
  }
}

// Where the element of `part` at `index` lies in `whole`.
std::int64_t offset_in_whole(const StridedSpec& spec, const Index& index) {
  Index position{};
  for (std::size_t axis = 0; axis < spec.begin.size(); ++axis) {
    position[axis] = spec.begin[axis] + index[axis] * spec.step[axis];
  }
  return offset_of(position, row_major_strides(spec.whole));
}

// x with 1 along every reduced axis.
Shape reduced_shape(const ReduceSpec& spec) {
  Shape shape = spec.x;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (spec.reduced[static_cast<std::size_t>(axis)]) shape[axis] = 1;
  }
  return shape;
}

// The part of x that one element of the result is reduced from.
Shape window_shape(const ReduceSpec& spec) {
  Shape shape = spec.x;
  for (int axis = 0; axis < shape.rank(); ++axis) {
    if (!spec.reduced[static_cast<std::size_t>(axis)]) shape[axis] = 1;
  }
  return shape;
}

template <typename T>
double reduce_window(Reduce op, const Shape& window, const Index& strides, const T* x) {
  double sum = 0;
  double most = -std::numeric_limits<double>::infinity();
  for_each_index(window, [&](const Index& i) {
    const double value = x[offset_of(i, strides)];
    sum += value;
    most = std::max(most, value);
  });
  if (op == Reduce::max) return most;
  return op == Reduce::mean ? sum / static_cast<double>(window.count()) : sum;
}

// Shares `dy` among the elements of the window that equal the maximum `y`.
template <typename T>
void share_among_equals(const Shape& window, const Index& strides, double dy, T y, const T* x, T* dx) {
  std::int64_t equals = 0;
  for_each_index(window, [&](const Index& i) { equals += x[offset_of(i, strides)] == y ? 1 : 0; });
  for_each_index(window, [&](const Index& i) {
    const std::int64_t at = offset_of(i, strides);
    dx[at] = x[at] == y ? static_cast<T>(dy / static_cast<double>(equals)) : T{0};
  });
}

}  // namespace

std::unique_ptr<Kernel> make_transpose(const TransposeSpec& spec) {
  return make_move_kernel(spec.dtype, [spec]<typename Word>(Word, Buffers in, Buffers out) {
    const Index own = row_major_strides(spec.x);
    Shape shape = spec.x;
    Index strides{};
    for (std::size_t axis = 0; axis < spec.perm.size(); ++axis) {
      shape[static_cast<int>(axis)] = spec.x[spec.perm[axis]];
      strides[axis] = own[static_cast<std::size_t>(spec.perm[axis])];
    }
    Word* y = operand<Word>(out, 0);
    for_each_index(shape, [&](const Index& i) { *y++ = operand<Word>(in, 0)[offset_of(i, strides)]; });
  });
}

std::unique_ptr<Kernel> make_slice(const StridedSpec& spec) {
  return make_move_kernel(spec.dtype, [spec]<typename Word>(Word, Buffers in, Buffers out) {
    Word* y = operand<Word>(out, 0);
    for_each_index(spec.part, [&](const Index& i) { *y++ = operand<Word>(in, 0)[offset_in_whole(spec, i)]; });
  });
}

std::unique_ptr<Kernel> make_unslice(const StridedSpec& spec) {
  return make_move_kernel(spec.dtype, [spec]<typename Word>(Word, Buffers in, Buffers out) {
    const Word* x = operand<Word>(in, 0);
    std::fill_n(operand<Word>(out, 0), spec.whole.count(), Word{0});
    for_each_index(spec.part,
                   [&](const Index& i) { operand<Word>(out, 0)[offset_in_whole(spec, i)] = *x++; });
  });
}

std::unique_ptr<Kernel> make_concat(const ConcatSpec& spec) {
  return make_move_kernel(spec.dtype, [spec]<typename Word>(Word, Buffers in, Buffers out) {
    Word* y = operand<Word>(out, 0);
    for (std::int64_t row = 0; row < spec.outer; ++row) {
      for (std::size_t i = 0; i < spec.widths.size(); ++i) {
        y = std::copy_n(operand<Word>(in, i) + row * spec.widths[i], spec.widths[i], y);
      }
    }
  });
}

std::unique_ptr<Kernel> make_broadcast_to(const BroadcastSpec& spec) {
  return make_move_kernel(spec.dtype, [spec]<typename Word>(Word, Buffers in, Buffers out) {
    const Index strides = broadcast_strides(spec.x, spec.y);
    Word* y = operand<Word>(out, 0);
    for_each_index(spec.y, [&](const Index& i) { *y++ = operand<Word>(in, 0)[offset_of(i, strides)]; });
  });
}

std::unique_ptr<Kernel> make_reduce(const ReduceSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const Index strides = row_major_strides(spec.x);
    T* y = operand<T>(out, 0);
    for_each_index(reduced_shape(spec), [&](const Index& i) {
      const T* x = operand<T>(in, 0) + offset_of(i, strides);
      *y++ = static_cast<T>(reduce_window(spec.op, window_shape(spec), strides, x));
    });
  });
}

std::unique_ptr<Kernel> make_reduce_max_grad(const ReduceSpec& spec) {
  return make_float_kernel(spec.dtype, [spec]<typename T>(T, Buffers in, Buffers out) {
    const Index strides = row_major_strides(spec.x);
    const T* dy = operand<T>(in, 0);
    const T* y = operand<T>(in, 2);
    for_each_index(reduced_shape(spec), [&](const Index& i) {
      const std::int64_t at = offset_of(i, strides);
      share_among_equals(window_shape(spec), strides, *dy++, *y++, operand<T>(in, 1) + at,
                         operand<T>(out, 0) + at);
    });
  });
}

}  // namespace hocket::reference
