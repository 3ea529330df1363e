#include "tensor/kernels/transpose.h"

#include <algorithm>

#include "tensor/kernels/simd_targets.h"

// In tiles of one cache line a row. A vector is put together from four columns of as many rows as it has
// blocks of 128 bits, four of them are interleaved, and each result is one column of x: a run of y.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/transpose.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

constexpr std::int64_t kTileColumns = 16;

// Columns [first, last) of the rows from `row` on, one by one.
HWY_INLINE void transpose_rest(const float* x, std::int64_t x_stride, std::int64_t row, std::int64_t rows,
                               std::int64_t first, std::int64_t last, float* y, std::int64_t y_stride) {
  for (std::int64_t c = first; c < last; ++c) {
    for (std::int64_t r = row; r < rows; ++r) y[c * y_stride + r] = x[r * x_stride + c];
  }
}

#if HWY_TARGET <= HWY_AVX2
constexpr std::int64_t kBlockFloats = 4;  // In 128 bits.

// Four floats of each of the rows 0, 4, 8, … from p on.
HWY_INLINE Vec load_blocks(const float* p, std::int64_t stride) {
  const hn::Full128<float> block;
  const hn::Full256<float> pair;
  const std::int64_t apart = kBlockFloats * stride;
  const auto low = hn::Combine(pair, hn::LoadU(block, p + apart), hn::LoadU(block, p));
#if HWY_TARGET == HWY_AVX2
  return low;
#else
  const auto high = hn::Combine(pair, hn::LoadU(block, p + 3 * apart), hn::LoadU(block, p + 2 * apart));
  return hn::Combine(kFloats, high, low);
#endif
}

// As many rows of four columns as a vector has lanes.
HWY_INLINE void transpose_strip(const float* x, std::int64_t x_stride, float* y, std::int64_t y_stride) {
  const Vec r0 = load_blocks(x, x_stride), r1 = load_blocks(x + x_stride, x_stride);
  const Vec r2 = load_blocks(x + 2 * x_stride, x_stride), r3 = load_blocks(x + 3 * x_stride, x_stride);
  const Vec even_low = hn::InterleaveLower(kFloats, r0, r2), odd_low = hn::InterleaveLower(kFloats, r1, r3);
  const Vec even_high = hn::InterleaveUpper(kFloats, r0, r2), odd_high = hn::InterleaveUpper(kFloats, r1, r3);
  hn::StoreU(hn::InterleaveLower(kFloats, even_low, odd_low), kFloats, y);
  hn::StoreU(hn::InterleaveUpper(kFloats, even_low, odd_low), kFloats, y + y_stride);
  hn::StoreU(hn::InterleaveLower(kFloats, even_high, odd_high), kFloats, y + 2 * y_stride);
  hn::StoreU(hn::InterleaveUpper(kFloats, even_high, odd_high), kFloats, y + 3 * y_stride);
}

void transpose_rows(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t columns, float* y,
                    std::int64_t y_stride) {
  const auto step = static_cast<std::int64_t>(lanes());
  const std::int64_t whole_rows = rows / step * step;
  for (std::int64_t first = 0; first < columns; first += kTileColumns) {
    const std::int64_t last = std::min(first + kTileColumns, columns);
    const std::int64_t whole = first + (last - first) / kBlockFloats * kBlockFloats;
    for (std::int64_t r = 0; r < whole_rows; r += step) {
      for (std::int64_t c = first; c < whole; c += kBlockFloats)
        transpose_strip(x + r * x_stride + c, x_stride, y + c * y_stride + r, y_stride);
    }
    transpose_rest(x, x_stride, whole_rows, rows, first, whole, y, y_stride);
    transpose_rest(x, x_stride, 0, rows, whole, last, y, y_stride);
  }
}
#else
void transpose_rows(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t columns, float* y,
                    std::int64_t y_stride) {
  for (std::int64_t first = 0; first < columns; first += kTileColumns) {
    transpose_rest(x, x_stride, 0, rows, first, std::min(first + kTileColumns, columns), y, y_stride);
  }
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {

HWY_EXPORT(transpose_rows);

void transpose_floats(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t columns,
                      float* y, std::int64_t y_stride) {
  HWY_DYNAMIC_DISPATCH(transpose_rows)(x, x_stride, rows, columns, y, y_stride);
}

}  // namespace hocket::kernel
#endif
