#pragma once

#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <numbers>

namespace hocket {

// Mixes 64 bits so that every input bit changes every output bit (the finalizer of SplitMix64).
constexpr std::uint64_t mix_bits(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15ULL;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ULL;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebULL;
  return x ^ (x >> 31);
}

// A random stream that is a pure function of its keys, such as (seed, epoch, sample): two streams with the
// same keys give the same numbers on every rank, thread and machine. A value type; used by one thread.
class Rng {
 public:
  explicit constexpr Rng(std::initializer_list<std::uint64_t> keys) {
    for (const std::uint64_t key : keys) state_ = mix_bits(state_ ^ mix_bits(key));
  }

  constexpr std::uint64_t next() { return mix_bits(state_ + 0x9e3779b97f4a7c15ULL * ++count_); }

  // Uniform in [0, 1), with 53 random bits.
  constexpr double uniform() { return static_cast<double>(next() >> 11) * 0x1.0p-53; }
  constexpr double uniform(double low, double high) { return low + (high - low) * uniform(); }

  // Uniform in [0, bound), without the bias of a plain remainder (Lemire's multiply-and-shift). bound > 0.
  constexpr std::uint64_t below(std::uint64_t bound) {
    while (true) {
      const auto product = static_cast<unsigned __int128>(next()) * bound;
      if (static_cast<std::uint64_t>(product) >= (-bound) % bound)
        return static_cast<std::uint64_t>(product >> 64);
    }
  }

  // Standard normal (Box and Muller, one of the pair).
  double normal() {
    const double u = 1.0 - uniform();
    return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * uniform());
  }

 private:
  std::uint64_t state_ = 0;
  std::uint64_t count_ = 0;
};

}  // namespace hocket
