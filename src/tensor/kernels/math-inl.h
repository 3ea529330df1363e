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

// eˣ for x ≤ 88; below -87.3 it is 0. Relative error 1.2e-7.
//
// x = n·ln 2 + r with |r| ≤ ln 2 / 2; eʳ = 1 + r + r²·P(r); 2ⁿ is put together from its exponent bits.
HWY_INLINE Vec exp_small(Vec x) {
  constexpr float kLowest = -87.3F;
  const hn::RebindToSigned<Floats> ints;
  const Vec clamped = hn::Min(splat(88.0F), hn::Max(splat(kLowest), x));
  const Vec n = hn::Round(hn::Mul(clamped, splat(1.44269504F)));
  const Vec high = hn::NegMulAdd(n, splat(0.693145752F), clamped);  // ln 2 in two parts, the first one short.
  const Vec r = hn::NegMulAdd(n, splat(1.42860677e-6F), high);
  const Vec p = polynomial(r, 0.499999926F, 0.166665087F, 0.0416685283F, 0.00837013498F, 0.00138116625F);
  const Vec e = hn::Add(hn::MulAdd(hn::Mul(r, r), p, r), splat(1.0F));
  const auto exponent = hn::ShiftLeft<23>(hn::Add(hn::ConvertTo(ints, n), hn::Set(ints, 127)));
  return hn::IfThenZeroElse(hn::Lt(x, splat(kLowest)), hn::Mul(e, hn::BitCast(kFloats, exponent)));
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

// Of the normal distribution: its cumulative function Φ and exp(-x²/2).
struct Normal {
  Vec cumulative, bell;
};

// With z = |x|/√2, erfc(z) = exp(-z²)·Q(t) and t = 1/(1 + p·z), Q a polynomial: 1e-7 relative even far out.
HWY_INLINE Normal normal(Vec x) {
  const Vec z = hn::Mul(hn::Abs(x), splat(0.707106781F));
  const Vec t = hn::Div(splat(1.0F), hn::MulAdd(z, splat(0.3275911F), splat(1.0F)));
  const Vec bell = exp_small(hn::Mul(hn::Mul(x, x), splat(-0.5F)));
  const Vec q = hn::Mul(t, polynomial(t, 0.185068993F, 0.180499003F, 0.207261312F, 0.0210697555F,
                                      0.461264797F, -0.41445341F, 0.501577304F, -0.142287662F));
  const Vec tail = hn::Mul(splat(0.5F), hn::Mul(bell, q));
  return {hn::IfThenElse(hn::Lt(x, zero()), tail, hn::Sub(splat(1.0F), tail)), bell};
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#endif
