#include "tensor/kernels/peak.h"

#include <algorithm>
#include <chrono>

#include "tensor/kernels/simd_targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/peak.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// Twelve independent chains: more than latency times throughput of any unit. Returns the operations done.
double multiply_add(std::int64_t rounds, float* sink) {
  constexpr int kChains = 12;
  Vec sums[kChains];
  for (int i = 0; i < kChains; ++i) sums[i] = splat(static_cast<float>(i));
  const Vec a = splat(0.999F), b = splat(0.001F);
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) sums[i] = hn::MulAdd(sums[i], a, b);
  }
  Vec total = zero();
  for (const Vec& sum : sums) total = hn::Add(total, sum);
  *sink = sum_lanes(total);
  return 2.0 * static_cast<double>(rounds) * kChains * static_cast<double>(lanes());
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {

HWY_EXPORT(multiply_add);

double measure_f32_peak() {
  using Clock = std::chrono::steady_clock;
  constexpr std::int64_t kRounds = 100'000;
  double best = 0;
  volatile float sink = 0;
  for (int run = 0; run < 300; ++run) {
    float result = 0;
    const auto start = Clock::now();
    const double operations = HWY_DYNAMIC_DISPATCH(multiply_add)(kRounds, &result);
    const std::chrono::duration<double> elapsed = Clock::now() - start;
    sink = result;
    best = std::max(best, operations / elapsed.count());
  }
  static_cast<void>(sink);
  return best;
}

}  // namespace hocket::kernel
#endif
