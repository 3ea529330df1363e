#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace hocket {

// How well scores tell positive from negative samples: the area under the ROC curve, which is the chance that
// a positive one has the higher score. Scores are counted in bins of 1/256 of their size, so that ranks can
// add up what they have seen; two in one bin are a tie. Used by one thread.
class Ranking {
 public:
  Ranking() : counts_(2 * kBins) {}

  // The first `samples` of the scores and of the labels (f32, 0 or 1).
  void add(const Tensor& scores, const Tensor& labels, std::int64_t samples);
  std::span<double> counts() { return counts_; }  // Of several rankings, to be added.
  double area() const;                            // Of no positive or no negative sample: ½.

 private:
  static constexpr std::size_t kBins = std::size_t{1} << 16;

  std::vector<double> counts_;  // Of the negative samples by bin, then of the positive ones.
};

}  // namespace hocket
