#include "train/ranking.h"

#include <bit>

namespace hocket {
namespace {

// The upper half of the bits of a float, such that larger floats have larger numbers.
std::size_t bin_of(float score) {
  const auto bits = std::bit_cast<std::uint32_t>(score);
  const std::uint32_t ordered = (bits >> 31) != 0 ? ~bits : bits | 0x80000000U;
  return ordered >> 16;
}

}  // namespace

void Ranking::add(const Tensor& scores, const Tensor& labels, std::int64_t samples) {
  const float* label = labels.values<float>().data();
  for (std::int64_t i = 0; i < samples; ++i) {
    const float score = scores.dtype() == DType::f64 ? static_cast<float>(scores.values<double>()[i])
                                                     : scores.values<float>()[i];
    counts_[bin_of(score) + (label[i] > 0.5F ? kBins : 0)] += 1;
  }
}

double Ranking::area() const {
  double below = 0;     // Negative samples in lower bins.
  double positive = 0;  // In the bins so far.
  double won = 0;
  for (std::size_t bin = 0; bin < kBins; ++bin) {
    const double negatives = counts_[bin];
    const double positives = counts_[kBins + bin];
    won += positives * (below + 0.5 * negatives);
    below += negatives;
    positive += positives;
  }
  return below == 0 || positive == 0 ? 0.5 : won / (below * positive);
}

}  // namespace hocket
