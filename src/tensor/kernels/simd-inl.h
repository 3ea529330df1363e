// Loops over floats in vectors of whatever width the current target has. Included once a target by sources
// that are compiled for several (hwy/foreach_target.h); everything is inside HWY_NAMESPACE.
#if defined(HOCKET_TENSOR_KERNELS_SIMD_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_TENSOR_KERNELS_SIMD_INL_H_
#undef HOCKET_TENSOR_KERNELS_SIMD_INL_H_
#else
#define HOCKET_TENSOR_KERNELS_SIMD_INL_H_
#endif

#include <cstddef>
#include <cstdint>

#include "hwy/highway.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = hn::ScalableTag<float>;
using Vec = hn::Vec<Floats>;
using FloatMask = hn::Mask<Floats>;

inline constexpr Floats kFloats{};
HWY_INLINE std::size_t lanes() { return hn::Lanes(kFloats); }
HWY_INLINE Vec splat(float value) { return hn::Set(kFloats, value); }
HWY_INLINE Vec zero() { return hn::Zero(kFloats); }

// A whole vector of the loop below.
struct Whole {
  HWY_INLINE Vec load(const float* p) const { return hn::LoadU(kFloats, p); }
  HWY_INLINE void store(Vec v, float* p) const { hn::StoreU(v, kFloats, p); }
  HWY_INLINE Vec keep(Vec v, Vec) const { return v; }
};

// The last, partial vector: lanes from `count` on load as zero and are not stored.
struct Part {
  std::size_t count;

  HWY_INLINE Vec load(const float* p) const {
#if HWY_TARGET <= HWY_AVX2
    return hn::MaskedLoad(hn::FirstN(kFloats, count), kFloats, p);
#else
    HWY_ALIGN float lane[hn::MaxLanes(kFloats)] = {};
    for (std::size_t i = 0; i < count; ++i) lane[i] = p[i];
    return hn::Load(kFloats, lane);
#endif
  }
  HWY_INLINE void store(Vec v, float* p) const {
    hn::BlendedStore(v, hn::FirstN(kFloats, count), kFloats, p);
  }
  // `v` in the lanes that exist, `other` beyond them.
  HWY_INLINE Vec keep(Vec v, Vec other) const { return hn::IfThenElse(hn::FirstN(kFloats, count), v, other); }
};

// Calls body(i, lanes) for every vector of [0, n): `lanes` is Whole, or Part for the tail.
template <typename Body>
HWY_INLINE void for_vectors(std::size_t n, const Body& body) {
  const std::size_t step = lanes();
  std::size_t i = 0;
  for (; i + step <= n; i += step) body(i, Whole{});
  if (i < n) body(i, Part{n - i});
}

// max(x, bound) and min(x, bound); NaN stays NaN. So it does in x86's own, which give their second operand
// then.
HWY_INLINE Vec at_least(Vec bound, Vec x) {
#if HWY_TARGET <= HWY_AVX2
  return hn::Max(bound, x);
#else
  return hn::IfThenElse(hn::Lt(x, bound), bound, x);
#endif
}
HWY_INLINE Vec at_most(Vec bound, Vec x) {
#if HWY_TARGET <= HWY_AVX2
  return hn::Min(bound, x);
#else
  return hn::IfThenElse(hn::Gt(x, bound), bound, x);
#endif
}
HWY_INLINE Vec relu(Vec x) { return at_least(zero(), x); }

HWY_INLINE float sum_lanes(Vec v) { return hn::GetLane(hn::SumOfLanes(kFloats, v)); }
HWY_INLINE float max_lanes(Vec v) { return hn::GetLane(hn::MaxOfLanes(kFloats, v)); }

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
