#include <algorithm>

#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/unary.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/math-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

struct Relu {
  HWY_INLINE Vec operator()(Vec x) const { return relu(x); }
  HWY_INLINE Vec operator()(Vec dy, Vec y) const { return hn::IfThenElseZero(hn::Gt(y, zero()), dy); }
};
struct Tanh {
  HWY_INLINE Vec operator()(Vec x) const { return tanh(x); }
  HWY_INLINE Vec operator()(Vec dy, Vec y) const { return hn::Mul(dy, hn::NegMulAdd(y, y, splat(1.0F))); }
};
struct Sigmoid {
  HWY_INLINE Vec operator()(Vec x) const { return sigmoid(x); }
  HWY_INLINE Vec operator()(Vec dy, Vec y) const { return hn::Mul(dy, hn::NegMulAdd(y, y, y)); }
};
struct Gelu {
  HWY_INLINE Vec operator()(Vec x) const {  // x·Φ(x) = max(x, 0) − |x|·Φ(-|x|)
    const Normal n = normal(x);
    return hn::NegMulAdd(hn::Mul(n.a, n.bell), n.ratio, relu(x));
  }
  HWY_INLINE Vec operator()(Vec dy, Vec x) const {  // Φ(x) + x·φ(x), which at -x is 1 minus that.
    const Normal n = normal(x);
    const Vec below = hn::Mul(n.bell, hn::NegMulAdd(n.a, splat(0.398942280F), n.ratio));
    return hn::Mul(dy, hn::IfThenElse(hn::Lt(x, zero()), below, hn::Sub(splat(1.0F), below)));
  }
};
struct Exp {
  HWY_INLINE Vec operator()(Vec x) const { return exp_full(x); }
  HWY_INLINE Vec operator()(Vec dy, Vec y) const { return hn::Mul(dy, y); }
};

template <typename Function>
void map(const float* x, float* y, std::size_t n) {
  for_vectors(n, [&](std::size_t i, auto lane) HWY_ATTR { lane.store(Function()(lane.load(x + i)), y + i); });
}

template <typename Function>
void map(const float* dy, const float* saved, float* dx, std::size_t n) {
  for_vectors(n, [&](std::size_t i, auto lane)
                     HWY_ATTR { lane.store(Function()(lane.load(dy + i), lane.load(saved + i)), dx + i); });
}

template <typename... Operands>
void map_unary(Unary op, Operands... operands) {
  switch (op) {
    case Unary::relu: return map<Relu>(operands...);
    case Unary::tanh: return map<Tanh>(operands...);
    case Unary::sigmoid: return map<Sigmoid>(operands...);
    case Unary::gelu: return map<Gelu>(operands...);
    case Unary::exp: return map<Exp>(operands...);
  }
}

void unary(Unary op, const float* x, float* y, std::size_t n) { map_unary(op, x, y, n); }

void unary_grad(Unary op, const float* dy, const float* saved, float* dx, std::size_t n) {
  map_unary(op, dy, saved, dx, n);
}

// dx = dy + second where y > 0, else 0.
void relu_grad_of_sum(const float* dy, const float* second, const float* y, float* dx, std::size_t n) {
  for_vectors(n, [&](std::size_t i, auto lane) HWY_ATTR {
    const Vec sum = hn::Add(lane.load(dy + i), lane.load(second + i));
    lane.store(Relu()(sum, lane.load(y + i)), dx + i);
  });
}

void affine(float factor, float offset, const float* x, float* y, std::size_t n) {
  for_vectors(n, [&](std::size_t i, auto lane) HWY_ATTR {
    lane.store(hn::MulAdd(lane.load(x + i), splat(factor), splat(offset)), y + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {

HWY_EXPORT(unary);
HWY_EXPORT(unary_grad);
HWY_EXPORT(affine);
HWY_EXPORT(relu_grad_of_sum);

std::unique_ptr<Kernel> make_unary(const UnarySpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    parallel_for(spec.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(unary)
      (spec.op, operand(in, 0) + begin, operand(out, 0) + begin, static_cast<std::size_t>(end - begin));
    });
  });
}

std::unique_ptr<Kernel> make_unary_grad(const UnaryGradSpec& spec) {
  if (spec.dtype != DType::f32 || (spec.has_second && spec.op != Unary::relu)) return nullptr;
  if (spec.has_second) {
    return make_kernel([spec](Buffers in, Buffers out) {
      parallel_for(spec.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(relu_grad_of_sum)
        (operand(in, 0) + begin, operand(in, 2) + begin, operand(in, 1) + begin, operand(out, 0) + begin,
         static_cast<std::size_t>(end - begin));
      });
    });
  }
  return make_kernel([spec](Buffers in, Buffers out) {
    parallel_for(spec.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(unary_grad)
      (spec.op, operand(in, 0) + begin, operand(in, 1) + begin, operand(out, 0) + begin,
       static_cast<std::size_t>(end - begin));
    });
  });
}

std::unique_ptr<Kernel> make_scale(const ScaleSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    parallel_for(spec.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(affine)
      (static_cast<float>(spec.factor), static_cast<float>(spec.offset), operand(in, 0) + begin,
       operand(out, 0) + begin, static_cast<std::size_t>(end - begin));
    });
  });
}

}  // namespace hocket::kernel
#endif
