#pragma once

#include <cstdint>
#include <limits>
#include <string_view>

#include "data/dataset.h"

namespace hocket {

struct AugmentOptions {
  bool flip = false;  // Left and right, every other image.
  int shift = 0;      // Up to this many pixels along each axis.
  double rotate = 0;  // Up to this many degrees either way.
  double noise = 0;   // Deviation of what is added to each normalised pixel.
  // All of it fades linearly over the epochs [fade_start, fade_end), and is gone after them.
  std::int64_t fade_start = std::numeric_limits<std::int64_t>::max();
  std::int64_t fade_end = std::numeric_limits<std::int64_t>::max();
  std::uint64_t seed = 0;

  bool is_none() const { return !flip && shift == 0 && rotate == 0 && noise == 0; }
  // 1 before the fade, 0 after it.
  double strength(std::int64_t epoch) const;
};

// Reads "flip,shift=2,rotate=10,noise=0.1,fade=0.2", where `fade` is the part of the `epochs` of the run at
// its end over which the rest fades out (0.2 unless given); "none" is nothing at all. Throws ConfigError.
AugmentOptions parse_augment(std::string_view text, std::int64_t epochs, std::uint64_t seed);

// Images varied on the way out: what happens to a sample is a function of (seed, sample, epoch) alone. Pixels
// that move in from outside repeat the edge. Immutable and thread-safe, like the data set it wraps, which
// must outlive it.
class AugmentedDataset final : public Dataset {
 public:
  // Throws ConfigError where the data set has no images.
  AugmentedDataset(const Dataset& dataset, const AugmentOptions& options);
  const DataInfo& info() const override { return dataset_.info(); }
  void gather(std::span<const std::int64_t> indices, std::int64_t epoch,
              std::span<const Tensor> out) const override;

 private:
  const Dataset& dataset_;
  AugmentOptions options_;
};

}  // namespace hocket
