#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "base/rng.h"

namespace hocket {

// Which elements dropout keeps: a pure function of (seed, stream, step, global element index), so that ranks
// and micro-batches together drop what one process would. The index is (first sample + row)·elements per
// sample + i, with i counted in the logical order of the dimensions. 32-bit arithmetic only, so that it runs
// in vector lanes.
class DropoutMask {
 public:
  DropoutMask(std::int64_t seed, std::int64_t stream, std::int64_t step, double rate)
      : key_(Rng({static_cast<std::uint64_t>(seed), static_cast<std::uint64_t>(stream),
                  static_cast<std::uint64_t>(step)})
                 .next()),
        threshold_(static_cast<std::uint32_t>(std::min(std::round(rate * 0x1.0p32), 0x1.0p32 - 1))) {}

  bool keeps(std::uint64_t element) const {
    return hash(static_cast<std::uint32_t>(element), key(element)) >= threshold_;
  }

  // The key of the 2³² elements around `element`: a vectorised loop fetches it once and hashes the low words.
  std::uint64_t key(std::uint64_t element) const { return mix_bits(key_ + (element >> 32)); }
  std::uint32_t threshold() const { return threshold_; }  // Kept: hash(low word, key) ≥ threshold.

  // The finalizer of MurmurHash3 with the halves of the key mixed in before and between its multiplications.
  static constexpr std::uint32_t hash(std::uint32_t counter, std::uint64_t key) {
    std::uint32_t x = counter ^ static_cast<std::uint32_t>(key);
    x = (x ^ (x >> 16)) * 0x85ebca6bU;
    x = (x ^ (x >> 13) ^ static_cast<std::uint32_t>(key >> 32)) * 0xc2b2ae35U;
    return x ^ (x >> 16);
  }

 private:
  std::uint64_t key_;
  std::uint32_t threshold_;
};

}  // namespace hocket
