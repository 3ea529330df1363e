#include <algorithm>

#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/loop_nest.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

// With broadcasting, along the innermost dimension each operand is either a run of elements or one repeated
// element.
#ifndef HOCKET_TENSOR_KERNELS_BINARY_REPEATS_
#define HOCKET_TENSOR_KERNELS_BINARY_REPEATS_
namespace hocket::kernel {

struct Repeats {
  bool a, b;
};

}  // namespace hocket::kernel
#endif

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/binary.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

struct Add {
  HWY_INLINE Vec operator()(Vec a, Vec b) const { return hn::Add(a, b); }
};
struct Sub {
  HWY_INLINE Vec operator()(Vec a, Vec b) const { return hn::Sub(a, b); }
};
struct Mul {
  HWY_INLINE Vec operator()(Vec a, Vec b) const { return hn::Mul(a, b); }
};
struct Div {
  HWY_INLINE Vec operator()(Vec a, Vec b) const { return hn::Div(a, b); }
};

template <typename Op, bool kRepeatA, bool kRepeatB>
void map_run(const float* a, const float* b, float* y, std::size_t n) {
  const Vec one_a = splat(*a), one_b = splat(*b);
  for_vectors(n, [&](std::size_t i, auto lane) HWY_ATTR {
    const Vec va = kRepeatA ? one_a : lane.load(a + i);
    const Vec vb = kRepeatB ? one_b : lane.load(b + i);
    lane.store(Op()(va, vb), y + i);
  });
}

template <typename Op>
void map_op(Repeats repeats, const float* a, const float* b, float* y, std::size_t n) {
  if (repeats.a && repeats.b) return map_run<Op, true, true>(a, b, y, n);
  if (repeats.a) return map_run<Op, true, false>(a, b, y, n);
  if (repeats.b) return map_run<Op, false, true>(a, b, y, n);
  return map_run<Op, false, false>(a, b, y, n);
}

void binary_run(Binary op, Repeats repeats, const float* a, const float* b, float* y, std::size_t n) {
  switch (op) {
    case Binary::add: return map_op<Add>(repeats, a, b, y, n);
    case Binary::sub: return map_op<Sub>(repeats, a, b, y, n);
    case Binary::mul: return map_op<Mul>(repeats, a, b, y, n);
    case Binary::div: return map_op<Div>(repeats, a, b, y, n);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(binary_run);

class BinaryKernel final : public Kernel {
 public:
  explicit BinaryKernel(const BinarySpec& spec)
      : op_(spec.op),
        nest_(spec.y, {row_major(spec.y), broadcast(spec.a, spec.y), broadcast(spec.b, spec.y)}) {}

  void run(Buffers in, Buffers out, std::byte*) const override {
    const Repeats repeats{nest_.run_stride(1) == 0, nest_.run_stride(2) == 0};
    const float *a = operand(in, 0), *b = operand(in, 1);
    float* y = operand(out, 0);
    if (nest_.rank() == 1) {
      parallel_for(nest_.run_length(), kElementGrain, [&](std::int64_t begin, std::int64_t end) {
        HWY_DYNAMIC_DISPATCH(binary_run)
        (op_, repeats, repeats.a ? a : a + begin, repeats.b ? b : b + begin, y + begin,
         static_cast<std::size_t>(end - begin));
      });
      return;
    }
    const std::int64_t length = nest_.run_length();
    parallel_for(nest_.runs(), std::max<std::int64_t>(kElementGrain / length, 1),
                 [&](std::int64_t begin, std::int64_t end) {
                   nest_.for_runs(begin, end, [&](const auto& at) {
                     HWY_DYNAMIC_DISPATCH(binary_run)
                     (op_, repeats, a + at[1], b + at[2], y + at[0], static_cast<std::size_t>(length));
                   });
                 });
  }

 private:
  Binary op_;
  LoopNest<3> nest_;
};

}  // namespace

std::unique_ptr<Kernel> make_binary(const BinarySpec& spec) {
  if (spec.dtype != DType::f32 || spec.y.count() == 0) return nullptr;
  return std::make_unique<BinaryKernel>(spec);
}

}  // namespace hocket::kernel
#endif
