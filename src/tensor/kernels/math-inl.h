// Functions of vectors of floats. The polynomials are minimax fits; errors are those of f32 arithmetic as
// measured in unary_test.cc. NaN gives NaN.
#if defined(HOCKET_TENSOR_KERNELS_MATH_INL_H_) == defined(HWY_TARGET_TOGGLE)
#ifdef HOCKET_TENSOR_KERNELS_MATH_INL_H_
#undef HOCKET_TENSOR_KERNELS_MATH_INL_H_
#else
#define HOCKET_TENSOR_KERNELS_MATH_INL_H_
#endif

#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// c₀ + x·(c₁ + x·(c₂ + …))
HWY_INLINE Vec polynomial(Vec, float c0) { return splat(c0); }
template <typename... Rest>
HWY_INLINE Vec polynomial(Vec x, float c0, Rest... rest) {
  return hn::MulAdd(x, polynomial(x, rest...), splat(c0));
}

// x·2ⁿ, where neither is beyond the normal floats and n stands in the last bits of kShift + n.
constexpr float kShift = 0x1.8p23F;
HWY_INLINE Vec times_power_of_two(Vec x, Vec shifted) {
  const hn::RebindToSigned<Floats> ints;
  const auto exponent = hn::ShiftLeft<23>(hn::BitCast(ints, shifted));
  return hn::BitCast(kFloats, hn::Add(hn::BitCast(ints, x), exponent));
}

// eˣ for x ≤ 88; below -87.3 it is 0. Relative error 1.2e-7.
//
// x = n·ln 2 + r with |r| ≤ ln 2 / 2; adding kShift rounds to the whole number n.
HWY_INLINE Vec exp_small(Vec x) {
  constexpr float kLowest = -87.3F;
  const Vec clamped = at_most(splat(88.0F), at_least(splat(kLowest), x));
  const Vec shifted = hn::MulAdd(clamped, splat(1.44269504F), splat(kShift));
  const Vec n = hn::Sub(shifted, splat(kShift));
  const Vec high = hn::NegMulAdd(n, splat(0.693145752F), clamped);  // ln 2 in two parts, the first one short.
  const Vec r = hn::NegMulAdd(n, splat(1.42860677e-6F), high);
  const Vec e =
      polynomial(r, 1.0F, 1.0F, 0.499999926F, 0.166665087F, 0.0416685283F, 0.00837013498F, 0.00138116625F);
  return hn::IfThenZeroElse(hn::Lt(x, splat(kLowest)), times_power_of_two(e, shifted));
}

// eˣ over the whole range of f32, infinity included.
HWY_INLINE Vec exp_full(Vec x) {
  const Vec root = exp_small(hn::Mul(x, splat(0.5F)));
  return hn::Mul(root, root);
}

HWY_INLINE Vec sigmoid(Vec x) { return hn::Div(splat(1.0F), hn::Add(splat(1.0F), exp_small(hn::Neg(x)))); }

// An odd polynomial near zero, 1 - 2/(e²ˣ + 1) beyond.
HWY_INLINE Vec tanh(Vec x) {
  const Vec magnitude = hn::Abs(x);
  const Vec square = hn::Mul(x, x);
  const Vec p =
      polynomial(square, -0.333332781F, 0.133313309F, -0.0537299965F, 0.0206061408F, -0.00566693598F);
  const Vec near = hn::MulAdd(hn::Mul(x, square), p, x);
  const Vec e = exp_small(hn::Add(magnitude, magnitude));
  const Vec far = hn::Sub(splat(1.0F), hn::Div(splat(2.0F), hn::Add(e, splat(1.0F))));
  return hn::IfThenElse(hn::Lt(magnitude, splat(0.625F)), near, hn::CopySign(far, x));
}

// Of the normal distribution, at a = min(|x|, 12.5): exp(-a²/2) and Φ(-a) as a multiple of that.
struct Normal {
  Vec a, bell, ratio;
};

// exp(-a²/2) = 2ⁿ·2ᶠ with |f| ≤ ½. The ratio is a minimax fit whose relative error grows as that of the bell
// does: 5.5e-8·(1 + a²/2).
HWY_INLINE Normal normal(Vec x) {
  constexpr float kMinusHalfLog2E = -0.721347520F;
  const Vec a = at_most(splat(12.5F), hn::Abs(x));
  const Vec square = hn::Mul(a, a);
  const Vec shifted = hn::MulAdd(square, splat(kMinusHalfLog2E), splat(kShift));
  const Vec f = hn::MulSub(square, splat(kMinusHalfLog2E), hn::Sub(shifted, splat(kShift)));
  const Vec power =
      polynomial(f, 1.00000007F, 0.693146967F, 0.240221193F, 0.0555071345F, 0.00967556235F, 0.00132764777F);
  const Vec upper = polynomial(a, 0.499999973F, 0.341311183F, 0.107813940F, 0.0143133701F);
  const Vec lower = polynomial(a, 1.0F, 1.48050345F, 0.896934245F, 0.269846043F, 0.0358906643F);
  return {a, times_power_of_two(power, shifted), hn::Div(upper, lower)};
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
