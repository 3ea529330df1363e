#include <algorithm>

#include "tensor/dropout_mask.h"
#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/operands.h"
#include "tensor/kernels/simd_targets.h"
#include "tensor/kernels/threads.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "tensor/kernels/dropout.cc"
#include "hwy/foreach_target.h"
// The rest is compiled once a target.
#include "tensor/kernels/simd-inl.h"

HWY_BEFORE_NAMESPACE();
namespace hocket::kernel {
namespace HWY_NAMESPACE {

using Words = hn::RebindToUnsigned<Floats>;
using WordVec = hn::Vec<Words>;

// DropoutMask::hash of every lane.
HWY_INLINE WordVec hash(WordVec counter, std::uint64_t key) {
  const Words d;
  WordVec x = hn::Xor(counter, hn::Set(d, static_cast<std::uint32_t>(key)));
  x = hn::Mul(hn::Xor(x, hn::ShiftRight<16>(x)), hn::Set(d, 0x85ebca6bU));
  x = hn::Xor(hn::Xor(x, hn::ShiftRight<13>(x)), hn::Set(d, static_cast<std::uint32_t>(key >> 32)));
  x = hn::Mul(x, hn::Set(d, 0xc2b2ae35U));
  return hn::Xor(x, hn::ShiftRight<16>(x));
}

// y = x·scale where the hash of (counter + i·step) reaches the threshold, else 0. All counters share one key.
void dropout_run(const float* x, float* y, std::size_t n, std::uint32_t counter, std::uint32_t step,
                 std::uint64_t key, std::uint32_t threshold, float scale) {
  const Words d;
  const WordVec steps = hn::Mul(hn::Iota(d, 0), hn::Set(d, step));
  for_vectors(n, [&](std::size_t i, auto lane) HWY_ATTR {
    const WordVec counters = hn::Add(steps, hn::Set(d, counter + static_cast<std::uint32_t>(i) * step));
    const WordVec hashes = hash(counters, key);
    const auto dropped = hn::Lt(hashes, hn::Set(d, threshold));
    const Vec kept = hn::IfThenZeroElse(hn::RebindMask(kFloats, dropped), splat(scale));
    lane.store(hn::Mul(lane.load(x + i), kept), y + i);
  });
}

}  // namespace HWY_NAMESPACE
}  // namespace hocket::kernel
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace hocket::kernel {
namespace {

HWY_EXPORT(dropout_run);

bool is_interleaved(const DropoutSpec& spec) {
  return spec.layout == Layout::channels_last && spec.spatial > 1;
}

class DropoutKernel final : public Kernel {
 public:
  explicit DropoutKernel(const DropoutSpec& spec) : spec_(spec) {}

  void run(Buffers in, Buffers out, std::byte*) const override {
    const auto* key = operand<const std::int64_t>(in, 1);
    const DropoutMask mask(key[0], spec_.stream, key[1], spec_.rate);
    const std::int64_t size = spec_.c * spec_.spatial;
    parallel_for(
        spec_.n, std::max<std::int64_t>(kElementGrain / size, 1), [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t n = begin; n < end; ++n) {
            drop_sample(mask, (key[2] + n) * size, operand(in, 0) + n * size, operand(out, 0) + n * size);
          }
        });
  }

 private:
  // Elements are counted in the logical order (channel, position), whatever the layout.
  void drop_sample(const DropoutMask& mask, std::int64_t first, const float* x, float* y) const {
    if (!is_interleaved(spec_)) {
      const std::int64_t size = spec_.c * spec_.spatial;
      const std::int64_t run = spec_.parts == 1 ? size : spec_.run;
      for (std::int64_t at = 0; at < size; at += run) {
        drop_run(mask, static_cast<std::uint64_t>(spec_.global(first + at)), 1, x + at, y + at, run);
      }
      return;
    }
    const auto begin = static_cast<std::uint64_t>(spec_.global(first));
    for (std::int64_t s = 0; s < spec_.spatial; ++s) {
      drop_run(mask, begin + static_cast<std::uint64_t>(s), static_cast<std::uint64_t>(spec_.spatial),
               x + s * spec_.c, y + s * spec_.c, spec_.c);
    }
  }

  // Runs that cross a multiple of 2³² change their key on the way: those few go element by element.
  void drop_run(const DropoutMask& mask, std::uint64_t first, std::uint64_t step, const float* x, float* y,
                std::int64_t count) const {
    const auto scale = static_cast<float>(1 / (1 - spec_.rate));
    const std::uint64_t last = first + static_cast<std::uint64_t>(count - 1) * step;
    if (first >> 32 == last >> 32) {
      HWY_DYNAMIC_DISPATCH(dropout_run)
      (x, y, static_cast<std::size_t>(count), static_cast<std::uint32_t>(first),
       static_cast<std::uint32_t>(step), mask.key(first), mask.threshold(), scale);
      return;
    }
    for (std::int64_t i = 0; i < count; ++i) {
      y[i] = mask.keeps(first + static_cast<std::uint64_t>(i) * step) ? x[i] * scale : 0.0F;
    }
  }

  DropoutSpec spec_;
};

}  // namespace

std::unique_ptr<Kernel> make_dropout(const DropoutSpec& spec) {
  if (spec.dtype != DType::f32 || spec.n * spec.c * spec.spatial == 0 || spec.rate >= 1) return nullptr;
  const bool is_cut_within_channels = spec.parts > 1 && spec.run != spec.c * spec.spatial;
  if (is_interleaved(spec) && is_cut_within_channels) return nullptr;
  return std::make_unique<DropoutKernel>(spec);
}

}  // namespace hocket::kernel
#endif
