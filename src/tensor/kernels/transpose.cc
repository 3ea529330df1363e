#include "tensor/kernels/transpose.h"

#include <algorithm>

#include "tensor/kernels/simd_targets.h"

// In tiles of one cache line a row, strip by strip.
#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/transpose.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/transpose-inl.h"

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

void transpose_rows(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t columns, float* y,
                    std::int64_t y_stride) {
  const auto step = static_cast<std::int64_t>(lanes());
  const std::int64_t whole_rows = rows / step * step;
  for (std::int64_t first = 0; first < columns; first += kTileColumns) {
    const std::int64_t last = std::min(first + kTileColumns, columns);
    const std::int64_t whole = first + (last - first) / kStripColumns * kStripColumns;
    for (std::int64_t r = 0; r < whole_rows; r += step) {
      for (std::int64_t c = first; c < whole; c += kStripColumns) {
        Vec strip[kStripColumns];
        transpose_strip(x + r * x_stride + c, x_stride, strip);
#pragma GCC unroll 4
        for (std::int64_t i = 0; i < kStripColumns; ++i)
          hn::StoreU(strip[i], kFloats, y + (c + i) * y_stride + r);
      }
    }
    transpose_rest(x, x_stride, whole_rows, rows, first, whole, y, y_stride);
    transpose_rest(x, x_stride, 0, rows, whole, last, y, y_stride);
  }
}

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
