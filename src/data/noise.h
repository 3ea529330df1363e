#pragma once

#include <cstdint>

#include "base/rng.h"

namespace hocket {

// An approximately normal number with mean 0 and deviation 1 made of 64 random bits: the sum of four uniform
// ones. For pixels, where a true normal would cost more than the step that uses it.
constexpr float noise_of(std::uint64_t bits) {
  constexpr float kMean = 4 * 65535.0F / 2;
  constexpr float kDeviation = 37837.227F;  // sqrt(4 * (65536^2 - 1) / 12)
  const std::uint64_t sum = (bits & 0xffff) + (bits >> 16 & 0xffff) + (bits >> 32 & 0xffff) + (bits >> 48);
  return (static_cast<float>(sum) - kMean) / kDeviation;
}

}  // namespace hocket
