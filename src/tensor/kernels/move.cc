#include <algorithm>
#include <cstring>

#include "tensor/kernels/loop_nest.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/shape.h"
#include "tensor/kernels/threads.h"
#include "tensor/kernels/transpose.h"

// Moving elements: nothing is computed, so that an element is only a word of its size.
namespace hocket::kernel {
namespace {

// Calls body with an unsigned integer of the size of an element.
template <typename Body>
std::unique_ptr<Kernel> with_word(DType dtype, const Body& body) {
  switch (size_of(dtype)) {
    case 1: return body(std::uint8_t{});
    case 2: return body(std::uint16_t{});
    case 4: return body(std::uint32_t{});
    default: return body(std::uint64_t{});
  }
}

std::int64_t run_grain(std::int64_t length) { return std::max<std::int64_t>(kElementGrain / length, 1); }

// y[i] = x[i·stride]; a stride of 0 repeats one element.
template <typename Word>
void gather_run(const Word* x, std::int64_t stride, Word* y, std::int64_t count) {
  if (stride == 1) {
    std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(Word));
  } else if (stride == 0) {
    std::fill_n(y, count, *x);
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i] = x[i * stride];
  }
}

template <typename Word>
void scatter_run(const Word* x, Word* y, std::int64_t stride, std::int64_t count) {
  if (stride == 1) {
    std::memcpy(y, x, static_cast<std::size_t>(count) * sizeof(Word));
  } else {
    for (std::int64_t i = 0; i < count; ++i) y[i * stride] = x[i];
  }
}

// y = x picked up with strides: operand 0 of the nest is y, which is dense; operand 1 is x, starting at
// `begin`.
template <typename Word>
std::unique_ptr<Kernel> make_gather(const LoopNest<2>& nest, std::int64_t begin) {
  return make_kernel([nest, begin](Buffers in, Buffers out) {
    const Word* x = operand<const Word>(in, 0) + begin;
    auto* y = operand<Word>(out, 0);
    parallel_for(nest.runs(), run_grain(nest.run_length()), [&](std::int64_t first, std::int64_t last) {
      nest.for_runs(first, last, [&](const auto& at) {
        gather_run(x + at[1], nest.run_stride(1), y + at[0], nest.run_length());
      });
    });
  });
}

// Where the whole tensor's element for position 0 of the part lies, and how far apart neighbours are.
struct Window {
  explicit Window(const StridedSpec& spec) {
    const ShapeStrides whole = row_major(spec.whole);
    for (int axis = 0; axis < spec.whole.rank(); ++axis) {
      const auto i = static_cast<std::size_t>(axis);
      begin += spec.begin[i] * whole[i];
      strides[i] = spec.step[i] * whole[i];
    }
  }

  std::int64_t begin = 0;
  ShapeStrides strides{};
};

// Batches of (rows, columns) → (columns, rows) matrices, in square tiles that stay in cache.
template <typename Word>
void transpose_matrix(const Word* x, std::int64_t rows, std::int64_t x_stride, std::int64_t columns, Word* y,
                      std::int64_t y_stride) {
  constexpr std::int64_t kTile = 16;
  for (std::int64_t r = 0; r < rows; r += kTile) {
    for (std::int64_t c = 0; c < columns; c += kTile) {
      for (std::int64_t j = c; j < std::min(c + kTile, columns); ++j) {
        for (std::int64_t i = r; i < std::min(r + kTile, rows); ++i)
          y[j * y_stride + i] = x[i * x_stride + j];
      }
    }
  }
}

// Whether the nest is at most batches of matrices to transpose: y walks (batch, columns, rows), x (batch,
// rows, columns).
bool is_matrix_transpose(const LoopNest<2>& nest) {
  const int rank = nest.rank();
  return (rank == 2 || rank == 3) && nest.stride(0, rank - 1) == 1 && nest.stride(1, rank - 2) == 1;
}

template <typename Word>
std::unique_ptr<Kernel> make_matrix_transpose(const LoopNest<2>& nest) {
  return make_kernel([nest](Buffers in, Buffers out) {
    const int last = nest.rank() - 1;
    const std::int64_t rows = nest.size(last), columns = nest.size(last - 1);
    const std::int64_t batches = nest.rank() == 3 ? nest.size(0) : 1;
    parallel_for(batches, run_grain(rows * columns), [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t batch = begin; batch < end; ++batch) {
        const Word* x = operand<const Word>(in, 0) + batch * (batches > 1 ? nest.stride(1, 0) : 0);
        Word* y = operand<Word>(out, 0) + batch * (batches > 1 ? nest.stride(0, 0) : 0);
        const std::int64_t x_stride = nest.stride(1, last), y_stride = nest.stride(0, last - 1);
        if constexpr (sizeof(Word) == sizeof(float)) {
          transpose_floats(reinterpret_cast<const float*>(x), x_stride, rows, columns,
                           reinterpret_cast<float*>(y), y_stride);
        } else {
          transpose_matrix(x, rows, x_stride, columns, y, y_stride);
        }
      }
    });
  });
}

}  // namespace

std::unique_ptr<Kernel> make_transpose(const TransposeSpec& spec) {
  const ShapeStrides own = row_major(spec.x);
  Shape y = spec.x;
  ShapeStrides strides{};
  for (int axis = 0; axis < y.rank(); ++axis) {
    const int source = spec.perm[static_cast<std::size_t>(axis)];
    y[axis] = spec.x[source];
    strides[static_cast<std::size_t>(axis)] = own[static_cast<std::size_t>(source)];
  }
  const LoopNest<2> nest(y, {row_major(y), strides});
  if (y.count() == 0) return nullptr;
  return with_word(spec.dtype, [&]<typename Word>(Word) {
    return is_matrix_transpose(nest) ? make_matrix_transpose<Word>(nest) : make_gather<Word>(nest, 0);
  });
}

std::unique_ptr<Kernel> make_slice(const StridedSpec& spec) {
  if (spec.part.count() == 0) return nullptr;
  const Window window(spec);
  const LoopNest<2> nest(spec.part, {row_major(spec.part), window.strides});
  return with_word(spec.dtype, [&]<typename Word>(Word) { return make_gather<Word>(nest, window.begin); });
}

std::unique_ptr<Kernel> make_unslice(const StridedSpec& spec) {
  if (spec.part.count() == 0) return nullptr;
  const Window window(spec);
  const LoopNest<2> nest(spec.part, {row_major(spec.part), window.strides});
  return with_word(spec.dtype, [&]<typename Word>(Word) {
    return make_kernel([nest, begin = window.begin, count = spec.whole.count()](Buffers in, Buffers out) {
      auto* y = operand<Word>(out, 0);
      std::memset(y, 0, static_cast<std::size_t>(count) * sizeof(Word));
      nest.for_runs(0, nest.runs(), [&](const auto& at) {
        scatter_run(operand<const Word>(in, 0) + at[0], y + begin + at[1], nest.run_stride(1),
                    nest.run_length());
      });
    });
  });
}

std::unique_ptr<Kernel> make_concat(const ConcatSpec& spec) {
  const std::size_t element = size_of(spec.dtype);
  return make_kernel([spec, element](Buffers in, Buffers out) {
    std::byte* y = out[0];
    for (std::int64_t row = 0; row < spec.outer; ++row) {
      for (std::size_t i = 0; i < spec.widths.size(); ++i) {
        const std::size_t bytes = static_cast<std::size_t>(spec.widths[i]) * element;
        std::memcpy(y, in[i] + static_cast<std::size_t>(row) * bytes, bytes);
        y += bytes;
      }
    }
  });
}

std::unique_ptr<Kernel> make_broadcast_to(const BroadcastSpec& spec) {
  if (spec.y.count() == 0) return nullptr;
  const LoopNest<2> nest(spec.y, {row_major(spec.y), broadcast(spec.x, spec.y)});
  return with_word(spec.dtype, [&]<typename Word>(Word) { return make_gather<Word>(nest, 0); });
}

}  // namespace hocket::kernel
