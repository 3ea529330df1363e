#include "tensor/kernels/peak.h"

#include <algorithm>
#include <chrono>

#include "tensor/arena.h"
#include "tensor/kernels/matrix.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/peak.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

// Enough independent chains to hide the latency of a multiply-add on two units; as few as fit in sixteen
// registers.
constexpr int kChains = 12;

// `rounds` multiply-adds in each chain. Returns how many floating-point operations that was, and leaves their
// result where the compiler cannot do without it.
double multiply_add(std::int64_t rounds, volatile float* result) {
  const Vec factor = splat(0.9999F);
  Vec chain[kChains];
  for (int i = 0; i < kChains; ++i) chain[i] = splat(static_cast<float>(i));
  for (std::int64_t round = 0; round < rounds; ++round) {
    for (int i = 0; i < kChains; ++i) chain[i] = hn::MulAdd(chain[i], factor, factor);
  }
  Vec sum = chain[0];
  for (int i = 1; i < kChains; ++i) sum = hn::Add(sum, chain[i]);
  *result = sum_lanes(sum);
  return 2.0 * static_cast<double>(rounds) * kChains * static_cast<double>(lanes());
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
HWY_EXPORT(multiply_add);

namespace {

constexpr std::int64_t kRounds = 3'000'000;
constexpr std::int64_t kSize = 1024;

// The rate at which `body` does the `flops` that it returns.
template <typename Body>
double rate_of(const Body& body) {
  const auto start = std::chrono::steady_clock::now();
  const double flops = body();
  return flops / std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double register_rate() {
  return rate_of([] {
    double flops_of_one = 0;
    parallel_for(num_threads(), 1, [&](std::int64_t begin, std::int64_t end) {
      volatile float result = 0;
      for (std::int64_t i = begin; i < end; ++i) {
        const double flops = HWY_DYNAMIC_DISPATCH(multiply_add)(kRounds, &result);
        if (i == 0) flops_of_one = flops;
      }
    });
    return flops_of_one * num_threads();
  });
}

double product_rate() {
  MatmulSpec spec;
  spec.m = spec.n = spec.k = kSize;
  const std::unique_ptr<Kernel> product = make_matmul(spec);
  const std::size_t bytes = sizeof(float) * kSize * kSize;
  const Arena memory(3 * bytes);
  const Arena scratch(product->scratch_bytes());
  std::byte* const in[] = {memory.data(), memory.data() + bytes};
  std::byte* const out[] = {memory.data() + 2 * bytes};
  product->run(in, out, scratch.data());
  constexpr int kTimes = 3;
  return rate_of([&] {
    for (int i = 0; i < kTimes; ++i) product->run(in, out, scratch.data());
    return kTimes * 2.0 * kSize * kSize * kSize;
  });
}

}  // namespace

double measure_peak_flops() { return std::max(register_rate(), product_rate()); }

}  // namespace hocket::kernel
#endif  // HWY_ONCE
