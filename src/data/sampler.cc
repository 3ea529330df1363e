#include "data/sampler.h"

#include <algorithm>
#include <array>
#include <bit>
#include <numeric>

#include "base/error.h"
#include "base/rng.h"

namespace hocket {

// The order is a Feistel network over the smallest power of two that holds `size`: each round adds to one
// half a keyed hash of the other, which is a bijection whatever the hash. A result beyond `size` is fed in
// again until it falls inside (cycle walking); since the block is less than twice as large, two rounds are
// expected at most.
SampleOrder::SampleOrder(std::int64_t size, std::uint64_t seed, std::int64_t epoch)
    : size_(static_cast<std::uint64_t>(size)) {
  HOCKET_CHECK(size > 0, "an order of {} samples", size);
  const int bits = std::max(2, static_cast<int>(std::bit_width(size_ - 1)));
  low_bits_ = bits / 2;
  high_bits_ = bits - low_bits_;
  Rng rng{seed, 0x6f726465, static_cast<std::uint64_t>(epoch)};
  for (std::uint64_t& key : keys_) key = rng.next();
}

std::int64_t SampleOrder::operator[](std::int64_t position) const {
  auto x = static_cast<std::uint64_t>(position);
  do {
    x = permute_block(x);
  } while (x >= size_);
  return static_cast<std::int64_t>(x);
}

// Each pass feeds in those that fell outside, kTogether at most, without a branch that depends on a result.
void SampleOrder::copy(std::int64_t first, std::span<std::int64_t> to) const {
  constexpr std::size_t kTogether = 64;
  std::array<std::uint64_t, kTogether> values{};
  std::array<std::size_t, kTogether> left{};
  while (!to.empty()) {
    std::size_t count = std::min(kTogether, to.size());
    for (std::size_t i = 0; i < count; ++i) {
      values[i] = static_cast<std::uint64_t>(first) + i;
      left[i] = i;
    }
    first += static_cast<std::int64_t>(count);
    const std::span<std::int64_t> out = to.first(count);
    while (count > 0) {
      std::size_t outside = 0;
      for (std::size_t k = 0; k < count; ++k) {
        const std::size_t i = left[k];
        values[i] = permute_block(values[i]);
        left[outside] = i;
        outside += values[i] >= size_ ? 1 : 0;
      }
      count = outside;
    }
    for (std::size_t i = 0; i < out.size(); ++i) out[i] = static_cast<std::int64_t>(values[i]);
    to = to.subspan(out.size());
  }
}

std::uint64_t SampleOrder::permute_block(std::uint64_t x) const {
  const std::uint64_t low_mask = (std::uint64_t{1} << low_bits_) - 1;
  const std::uint64_t high_mask = (std::uint64_t{1} << high_bits_) - 1;
  std::uint64_t low = x & low_mask;
  std::uint64_t high = x >> low_bits_;
  for (int round = 0; round < kRounds; round += 2) {
    low = (low + mix_bits(high ^ keys_[round])) & low_mask;
    high = (high + mix_bits(low ^ keys_[round + 1])) & high_mask;
  }
  return high << low_bits_ | low;
}

SampleRange rank_share(SampleRange whole, int index, int count) {
  const std::int64_t base = whole.count / count;
  const std::int64_t longer = whole.count % count;
  return {whole.first + index * base + std::min<std::int64_t>(index, longer),
          base + (index < longer ? 1 : 0)};
}

SampleRange weighted_share(SampleRange whole, std::span<const std::int64_t> weights, int index) {
  const auto at = weights.begin() + index;
  const std::int64_t before = std::accumulate(weights.begin(), at, std::int64_t{0});
  const std::int64_t all = std::accumulate(at, weights.end(), before);
  const std::int64_t first = whole.count * before / all;
  return {whole.first + first, whole.count * (before + *at) / all - first};
}

}  // namespace hocket
