// Reductions and exponentials over one row of floats. Four independent sums, added in a fixed order.
#if defined(HOCKET_TENSOR_KERNELS_ROWS_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_TENSOR_KERNELS_ROWS_INL_H_
#undef HOCKET_TENSOR_KERNELS_ROWS_INL_H_
#else
#define HOCKET_TENSOR_KERNELS_ROWS_INL_H_
#endif

#include <limits>

#include "tensor/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

HWY_INLINE float max_of_row(const float* x, std::size_t width) {
  const Vec lowest = splat(-std::numeric_limits<float>::infinity());
  Vec highest = lowest;
  for_vectors(width, [&](std::size_t i, auto lane)
                         HWY_ATTR { highest = hn::Max(highest, lane.keep(lane.load(x + i), lowest)); });
  return max_lanes(highest);
}

// Σ term(i, lane) over the row, where term gives a vector whose lanes beyond the row are zero.
template <typename Term>
HWY_INLINE float sum_over(std::size_t width, const Term& term) {
  const std::size_t step = lanes();
  Vec s0 = zero(), s1 = zero(), s2 = zero(), s3 = zero();
  std::size_t i = 0;
  for (; i + 4 * step <= width; i += 4 * step) {
    s0 = hn::Add(s0, term(i, Whole{}));
    s1 = hn::Add(s1, term(i + step, Whole{}));
    s2 = hn::Add(s2, term(i + 2 * step, Whole{}));
    s3 = hn::Add(s3, term(i + 3 * step, Whole{}));
  }
  for (; i + step <= width; i += step) s0 = hn::Add(s0, term(i, Whole{}));
  if (i < width) s1 = hn::Add(s1, term(i, Part{width - i}));
  return sum_lanes(hn::Add(hn::Add(s0, s1), hn::Add(s2, s3)));
}

HWY_INLINE float sum_of_row(const float* x, std::size_t width) {
  return sum_over(width, [&](std::size_t i, auto lane) HWY_ATTR { return lane.load(x + i); });
}

HWY_INLINE float dot_rows(const float* a, const float* b, std::size_t width) {
  return sum_over(
      width, [&](std::size_t i, auto lane) HWY_ATTR { return hn::Mul(lane.load(a + i), lane.load(b + i)); });
}

HWY_INLINE float sum_of_exp(const float* x, std::size_t width, float highest) {
  return sum_over(width, [&](std::size_t i, auto lane) HWY_ATTR {
    return lane.keep(exp_small(hn::Sub(lane.load(x + i), splat(highest))), zero());
  });
}

// y = exp(scale·(x − highest)) and its sum.
HWY_INLINE float exp_row(const float* x, float* y, std::size_t width, float highest, float scale) {
  return sum_over(width, [&](std::size_t i, auto lane) HWY_ATTR {
    const Vec e = exp_small(hn::Mul(hn::Sub(lane.load(x + i), splat(highest)), splat(scale)));
    lane.store(e, y + i);
    return lane.keep(e, zero());
  });
}

HWY_INLINE void scale_row(const float* x, float* y, std::size_t width, float factor) {
  for_vectors(width, [&](std::size_t i, auto lane)
                         HWY_ATTR { lane.store(hn::Mul(lane.load(x + i), splat(factor)), y + i); });
}

HWY_INLINE void scale_row(float* x, std::size_t width, float factor) { scale_row(x, x, width, factor); }

// dx = scale·y·(dy − dot), where dot = Σ dy·y
HWY_INLINE void softmax_grad_row(const float* dy, const float* y, float* dx, std::size_t width, float dot,
                                 float scale) {
  for_vectors(width, [&](std::size_t i, auto lane) HWY_ATTR {
    const Vec centred = hn::Sub(lane.load(dy + i), splat(dot));
    lane.store(hn::Mul(hn::Mul(lane.load(y + i), splat(scale)), centred), dx + i);
  });
}

HWY_INLINE void softmax_grad_row(const float* dy, const float* y, float* dx, std::size_t width, float scale) {
  softmax_grad_row(dy, y, dx, width, dot_rows(dy, y, width), scale);
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
