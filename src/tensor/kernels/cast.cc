#include <algorithm>
#include <bit>
#include <cstring>

#include "tensor/dtype.h"
#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/cast.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Floats>;
using SignedWords = hn::RebindToSigned<Floats>;
template <typename T>
using Narrow = hn::Rebind<T, Floats>;

// Conversions of one whole vector. Rounding is to nearest, ties to even; a NaN stays one.
HWY_INLINE void convert(const float* x, std::uint16_t* bf16) {
  const Words d;
  const auto bits = hn::BitCast(d, hn::LoadU(kFloats, x));
  const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
  const auto rounded = hn::ShiftRight<16>(hn::Add(bits, hn::Add(odd, hn::Set(d, 0x7fff))));
  const auto quiet = hn::Or(hn::ShiftRight<16>(bits), hn::Set(d, 0x40));
  const auto is_nan = hn::RebindMask(d, hn::IsNaN(hn::LoadU(kFloats, x)));
  const auto narrow = hn::BitCast(SignedWords(), hn::IfThenElse(is_nan, quiet, rounded));
  hn::StoreU(hn::DemoteTo(Narrow<std::uint16_t>(), narrow), Narrow<std::uint16_t>(), bf16);
}
HWY_INLINE void convert(const std::uint16_t* bf16, float* y) {
  const auto wide = hn::PromoteTo(Words(), hn::LoadU(Narrow<std::uint16_t>(), bf16));
  hn::StoreU(hn::BitCast(kFloats, hn::ShiftLeft<16>(wide)), kFloats, y);
}
#if HWY_TARGET <= HWY_AVX2
HWY_INLINE void convert(const float* x, hwy::float16_t* y) {
  hn::StoreU(hn::DemoteTo(Narrow<hwy::float16_t>(), hn::LoadU(kFloats, x)), Narrow<hwy::float16_t>(), y);
}
HWY_INLINE void convert(const hwy::float16_t* x, float* y) {
  hn::StoreU(hn::PromoteTo(kFloats, hn::LoadU(Narrow<hwy::float16_t>(), x)), kFloats, y);
}
#else  // Highway's portable conversions cut off, and know no infinity.
HWY_INLINE void convert(const float* x, hwy::float16_t* y) {
  for (std::size_t i = 0; i < lanes(); ++i) y[i].bits = Float16(x[i]).bits;
}
HWY_INLINE void convert(const hwy::float16_t* x, float* y) {
  for (std::size_t i = 0; i < lanes(); ++i) y[i] = static_cast<float>(std::bit_cast<Float16>(x[i].bits));
}
#endif
HWY_INLINE void convert(const std::uint8_t* x, float* y) {
  const auto wide = hn::PromoteTo(SignedWords(), hn::LoadU(Narrow<std::uint8_t>(), x));
  hn::StoreU(hn::ConvertTo(kFloats, wide), kFloats, y);
}
HWY_INLINE void convert(const std::int32_t* x, float* y) {
  hn::StoreU(hn::ConvertTo(kFloats, hn::LoadU(SignedWords(), x)), kFloats, y);
}

template <typename From, typename To>
bool convert_run(const void* source, void* target, std::size_t n) {
  const auto* x = static_cast<const From*>(source);
  auto* y = static_cast<To*>(target);
  const std::size_t step = lanes();
  std::size_t i = 0;
  for (; i + step <= n; i += step) convert(x + i, y + i);
  if (i < n) {
    HWY_ALIGN From x_lane[hn::MaxLanes(kFloats)] = {};
    HWY_ALIGN To y_lane[hn::MaxLanes(kFloats)];
    std::copy_n(x + i, n - i, x_lane);
    convert(x_lane, y_lane);
    std::copy_n(y_lane, n - i, y + i);
  }
  return true;
}

// Whether there is such a conversion; runs it where there is and `n` is not 0.
bool cast(DType from, DType to, const void* x, void* y, std::size_t n) {
  const auto is = [&](DType a, DType b) { return from == a && to == b; };
  if (is(DType::f32, DType::bf16)) return convert_run<float, std::uint16_t>(x, y, n);
  if (is(DType::bf16, DType::f32)) return convert_run<std::uint16_t, float>(x, y, n);
  if (is(DType::f32, DType::f16)) return convert_run<float, hwy::float16_t>(x, y, n);
  if (is(DType::f16, DType::f32)) return convert_run<hwy::float16_t, float>(x, y, n);
  if (is(DType::u8, DType::f32)) return convert_run<std::uint8_t, float>(x, y, n);
  if (is(DType::i32, DType::f32)) return convert_run<std::int32_t, float>(x, y, n);
  return false;
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {

HWY_EXPORT(cast);

std::unique_ptr<Kernel> make_cast(const CastSpec& spec) {
  const auto from = static_cast<std::int64_t>(size_of(spec.from));
  const auto to = static_cast<std::int64_t>(size_of(spec.to));
  if (spec.from == spec.to) {
    return make_kernel([bytes = static_cast<std::size_t>(spec.count * from)](Buffers in, Buffers out) {
      std::memmove(out[0], in[0], bytes);
    });
  }
  if (!HWY_DYNAMIC_DISPATCH(cast)(spec.from, spec.to, nullptr, nullptr, 0)) return nullptr;
  return make_kernel([spec, from, to](Buffers in, Buffers out) {
    parallel_for(spec.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      const auto run = HWY_DYNAMIC_DISPATCH(cast);
      run(spec.from, spec.to, in[0] + begin * from, out[0] + begin * to,
          static_cast<std::size_t>(end - begin));
    });
  });
}

}  // namespace hocket::kernel
#endif
