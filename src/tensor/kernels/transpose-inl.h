// Four columns of as many rows as a vector has lanes, turned in registers. Included once a target; everything
// is inside HWY_NAMESPACE.
#if defined(HOCKET_TENSOR_KERNELS_TRANSPOSE_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_TENSOR_KERNELS_TRANSPOSE_INL_H_
#undef HOCKET_TENSOR_KERNELS_TRANSPOSE_INL_H_
#else
#define HOCKET_TENSOR_KERNELS_TRANSPOSE_INL_H_
#endif

#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

constexpr std::int64_t kStripColumns = 4;  // In 128 bits.

#if HWY_TARGET <= HWY_AVX2
// Four floats of each of the rows 0, 4, 8, … from p on.
HWY_INLINE Vec load_blocks(const float* p, std::int64_t stride) {
  const hn::Full128<float> block;
  const hn::Full256<float> pair;
  const std::int64_t apart = kStripColumns * stride;
  const auto low = hn::Combine(pair, hn::LoadU(block, p + apart), hn::LoadU(block, p));
#if HWY_TARGET == HWY_AVX2
  return low;
#else
  const auto high = hn::Combine(pair, hn::LoadU(block, p + 3 * apart), hn::LoadU(block, p + 2 * apart));
  return hn::Combine(kFloats, high, low);
#endif
}

// A vector is put together from four columns of as many rows as it has blocks of 128 bits, four of them are
// interleaved, and each result is one column.
HWY_INLINE void transpose_strip(const float* x, std::int64_t stride, Vec* columns) {
  const Vec r0 = load_blocks(x, stride), r1 = load_blocks(x + stride, stride);
  const Vec r2 = load_blocks(x + 2 * stride, stride), r3 = load_blocks(x + 3 * stride, stride);
  const Vec even_low = hn::InterleaveLower(kFloats, r0, r2), odd_low = hn::InterleaveLower(kFloats, r1, r3);
  const Vec even_high = hn::InterleaveUpper(kFloats, r0, r2), odd_high = hn::InterleaveUpper(kFloats, r1, r3);
  columns[0] = hn::InterleaveLower(kFloats, even_low, odd_low);
  columns[1] = hn::InterleaveUpper(kFloats, even_low, odd_low);
  columns[2] = hn::InterleaveLower(kFloats, even_high, odd_high);
  columns[3] = hn::InterleaveUpper(kFloats, even_high, odd_high);
}
#else
// One lane, one row.
HWY_INLINE void transpose_strip(const float* x, std::int64_t, Vec* columns) {
  for (std::int64_t i = 0; i < kStripColumns; ++i) columns[i] = hn::LoadU(kFloats, x + i);
}
#endif

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
