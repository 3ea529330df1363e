#pragma once

#include <cstdint>
#include <span>

namespace hocket {

// A random order of 0 … size-1, a pure function of (seed, epoch): any position is found in constant time and
// memory, so that a resumed run and every rank agree without storing the order. Immutable.
class SampleOrder {
 public:
  SampleOrder(std::int64_t size, std::uint64_t seed, std::int64_t epoch);
  std::int64_t operator[](std::int64_t position) const;
  // Those from position `first` on, which takes less time than one by one.
  void copy(std::int64_t first, std::span<std::int64_t> to) const;

 private:
  static constexpr int kRounds = 6;

  std::uint64_t permute_block(std::uint64_t x) const;

  std::uint64_t size_;
  int low_bits_, high_bits_;  // The halves of the smallest block of 2^n numbers that holds `size`.
  std::uint64_t keys_[kRounds];
};

// Positions [first, first + count) of an epoch.
struct SampleRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
};

// The contiguous part of `whole` that rank `index` of `count` takes: sizes differ by at most one, larger ones
// first.
SampleRange rank_share(SampleRange whole, int index, int count);

// The contiguous part of `whole` that rank `index` takes where shares are in proportion to `weights`.
SampleRange weighted_share(SampleRange whole, std::span<const std::int64_t> weights, int index);

}  // namespace hocket
