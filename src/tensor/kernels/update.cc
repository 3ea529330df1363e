#include "tensor/kernels/update.h"

#include <algorithm>
#include <cmath>

#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/update.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

#ifndef HOCKET_TENSOR_KERNELS_UPDATE_STEP_
#define HOCKET_TENSOR_KERNELS_UPDATE_STEP_
namespace hocket::kernel {

// The numbers of one step, as the vector loops take them.
struct Step {
  UpdateRule rule;
  float rate, scale, decay, mu, beta1, beta2, rest1, rest2, eps;  // rest is 1 − β.
  float adam_rate;                                                // η / (1 − β₁ᵗ)
  float root_correction;                                          // 1 / √(1 − β₂ᵗ)
};

// The pieces of the parameter, its gradient and its state that one call updates.
struct UpdateRange {
  float* w;
  const float* g;
  float *first, *second;
  std::size_t count;
};

}  // namespace hocket::kernel
#endif

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// One pass over memory: every rule reads and writes each element once. `kRule` and `s` are as in
// docs/OPERATORS.md.
template <UpdateRule kRule, typename Lane>
HWY_INLINE void update_vector(const Step& s, const UpdateRange& r, std::size_t i, Lane lane) {
  const Vec rate = splat(s.rate);
  Vec w = lane.load(r.w + i);
  Vec g = hn::Mul(lane.load(r.g + i), splat(s.scale));
  if constexpr (kRule == UpdateRule::adamw) {
    w = hn::NegMulAdd(w, splat(s.rate * s.decay), w);
  } else {
    g = hn::MulAdd(w, splat(s.decay), g);
  }
  if constexpr (kRule == UpdateRule::sgd) {
    w = hn::NegMulAdd(rate, g, w);
  } else if constexpr (kRule == UpdateRule::momentum || kRule == UpdateRule::nesterov) {
    const Vec v = hn::NegMulAdd(rate, g, hn::Mul(splat(s.mu), lane.load(r.first + i)));
    lane.store(v, r.first + i);
    w = kRule == UpdateRule::momentum ? hn::Add(w, v) : hn::NegMulAdd(rate, g, hn::MulAdd(splat(s.mu), v, w));
  } else if constexpr (kRule == UpdateRule::adagrad) {
    const Vec a = hn::MulAdd(g, g, lane.load(r.first + i));
    lane.store(a, r.first + i);
    w = hn::Sub(w, hn::Div(hn::Mul(rate, g), hn::Add(hn::Sqrt(a), splat(s.eps))));
  } else {
    const Vec m = hn::MulAdd(splat(s.rest1), g, hn::Mul(splat(s.beta1), lane.load(r.first + i)));
    const Vec v = hn::MulAdd(hn::Mul(splat(s.rest2), g), g, hn::Mul(splat(s.beta2), lane.load(r.second + i)));
    lane.store(m, r.first + i);
    lane.store(v, r.second + i);
    const Vec divisor = hn::MulAdd(hn::Sqrt(v), splat(s.root_correction), splat(s.eps));
    w = hn::Sub(w, hn::Div(hn::Mul(splat(s.adam_rate), m), divisor));
  }
  lane.store(w, r.w + i);
}

template <UpdateRule kRule>
void update_range(const Step& s, const UpdateRange& r) {
  for_vectors(r.count, [&](std::size_t i, auto lane) HWY_ATTR { update_vector<kRule>(s, r, i, lane); });
}

void update(const Step& s, const UpdateRange& r) {
  switch (s.rule) {
    case UpdateRule::sgd: return update_range<UpdateRule::sgd>(s, r);
    case UpdateRule::momentum: return update_range<UpdateRule::momentum>(s, r);
    case UpdateRule::nesterov: return update_range<UpdateRule::nesterov>(s, r);
    case UpdateRule::adagrad: return update_range<UpdateRule::adagrad>(s, r);
    case UpdateRule::adam: return update_range<UpdateRule::adam>(s, r);
    case UpdateRule::adamw: return update_range<UpdateRule::adamw>(s, r);
  }
}

void accumulate(float* sum, const float* x, std::size_t n) {
  for_vectors(n, [&](std::size_t i, auto lane)
                     HWY_ATTR { lane.store(hn::Add(lane.load(sum + i), lane.load(x + i)), sum + i); });
}

// Σ g² in f64. Eight partial sums whatever the target, so that every machine adds in the same order.
double sum_squares(const float* g, std::size_t n) {
  constexpr std::size_t kSums = 8;
  double sums[kSums] = {};
  std::size_t i = 0;
  for (; i + kSums <= n; i += kSums) {
    for (std::size_t j = 0; j < kSums; ++j)
      sums[j] += static_cast<double>(g[i + j]) * static_cast<double>(g[i + j]);
  }
  for (; i < n; ++i) sums[i % kSums] += static_cast<double>(g[i]) * static_cast<double>(g[i]);
  double total = 0;
  for (const double sum : sums) total += sum;
  return total;
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(update);
HWY_EXPORT(accumulate);
HWY_EXPORT(sum_squares);

// `hyper` is (η, 1−β₁ᵗ, 1−β₂ᵗ, divisor of the mean).
Step step_of(const UpdateSpec& spec, const double* hyper, const float* scale) {
  const auto f = [](double value) { return static_cast<float>(value); };
  const double gradient_scale = (scale == nullptr ? 1.0 : static_cast<double>(*scale)) / hyper[3];
  return {.rule = spec.rule,
          .rate = f(hyper[0]),
          .scale = f(gradient_scale),
          .decay = f(spec.decay),
          .mu = f(spec.mu),
          .beta1 = f(spec.beta1),
          .beta2 = f(spec.beta2),
          .rest1 = f(1 - spec.beta1),
          .rest2 = f(1 - spec.beta2),
          .eps = f(spec.eps),
          .adam_rate = f(hyper[0] / hyper[1]),
          .root_correction = f(1.0 / std::sqrt(hyper[2]))};
}

// Operands: w, g, [row ids], hyper, state…, [scale].
class UpdateKernel final : public Kernel {
 public:
  explicit UpdateKernel(const UpdateSpec& spec) : spec_(spec) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    run_part(0, spec_.count, in, out, scratch);
  }
  std::int64_t part_unit() const override { return spec_.rows > 0 ? 0 : kPartUnit; }
  void run_part(std::int64_t begin, std::int64_t end, Buffers in, Buffers, std::byte*) const override {
    const std::size_t hyper_at = spec_.rows > 0 ? 3 : 2;
    const auto slots = static_cast<std::size_t>(spec_.slots());
    const Step step = step_of(spec_, operand<const double>(in, hyper_at),
                              spec_.has_scale ? operand<const float>(in, hyper_at + slots + 1) : nullptr);
    const UpdateRange whole{.w = operand(in, 0),
                            .g = operand(in, 1),
                            .first = slots > 0 ? operand(in, hyper_at + 1) : nullptr,
                            .second = slots > 1 ? operand(in, hyper_at + 2) : nullptr,
                            .count = static_cast<std::size_t>(spec_.count)};
    if (spec_.rows > 0) {
      update_rows(step, whole, operand<const std::int32_t>(in, 2));
    } else {
      parallel_for(end - begin, kElementGrain, [&](std::int64_t first, std::int64_t last) {
        HWY_DYNAMIC_DISPATCH(update)(step, part(whole, begin + first, begin + first, last - first));
      });
    }
  }

 private:
  static constexpr std::int64_t kPartUnit = 16;  // A line of memory.

  // `count` elements at `at`, with the gradient at `gradient_at`.
  static UpdateRange part(const UpdateRange& whole, std::int64_t at, std::int64_t gradient_at,
                          std::int64_t count) {
    return {.w = whole.w + at,
            .g = whole.g + gradient_at,
            .first = whole.first == nullptr ? nullptr : whole.first + at,
            .second = whole.second == nullptr ? nullptr : whole.second + at,
            .count = static_cast<std::size_t>(count)};
  }

  void update_rows(const Step& step, const UpdateRange& whole, const std::int32_t* ids) const {
    const std::int64_t grain =
        std::max<std::int64_t>(kElementGrain / std::max<std::int64_t>(spec_.width, 1), 1);
    parallel_for(spec_.rows, grain, [&](std::int64_t begin, std::int64_t end) {
      for (std::int64_t row = begin; row < end; ++row) {
        const std::int64_t at = (ids[row] - spec_.first) * spec_.width;
        if (at < 0 || at >= spec_.count) continue;
        HWY_DYNAMIC_DISPATCH(update)(step, part(whole, at, row * spec_.width, spec_.width));
      }
    });
  }

  UpdateSpec spec_;
};

void square_sums(const float* g, std::int64_t count, double* sums) {
  constexpr std::int64_t kBlock = SquareSumsSpec::kBlock;
  const std::int64_t blocks = (count + kBlock - 1) / kBlock;
  parallel_for(blocks, kElementGrain / kBlock, [&](std::int64_t begin, std::int64_t end) {
    for (std::int64_t b = begin; b < end; ++b) {
      const std::int64_t size = std::min(kBlock, count - b * kBlock);
      sums[b] = HWY_DYNAMIC_DISPATCH(sum_squares)(g + b * kBlock, static_cast<std::size_t>(size));
    }
  });
}

}  // namespace

std::unique_ptr<Kernel> make_update(const UpdateSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return std::make_unique<UpdateKernel>(spec);
}

std::unique_ptr<Kernel> make_square_sums(const SquareSumsSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_kernel([spec](Buffers in, Buffers out) {
    auto* sums = reinterpret_cast<double*>(out[0]);
    std::fill_n(sums, spec.size, 0.0);
    for (std::size_t i = 0; i < spec.counts.size(); ++i) {
      square_sums(operand(in, i), spec.counts[i], sums + spec.begins[i]);
    }
  });
}

std::unique_ptr<Kernel> make_accumulate(const AccumulateSpec& spec) {
  if (spec.dtype != DType::f32) return nullptr;
  return make_kernel([spec](Buffers in, Buffers) {
    parallel_for(spec.count, kElementGrain, [&](std::int64_t begin, std::int64_t end) {
      HWY_DYNAMIC_DISPATCH(accumulate)
      (operand(in, 0) + begin, operand(in, 1) + begin, static_cast<std::size_t>(end - begin));
    });
  });
}

}  // namespace hocket::kernel
#endif
