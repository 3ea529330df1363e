#pragma once

#include <optional>
#include <span>
#include <vector>

namespace hocket {

// What one run needed to get somewhere; empty when it never got there, which counts as more than any number.
using Needed = std::optional<double>;

// A median and its 95 % confidence interval; an empty end is "never".
struct MedianEstimate {
  Needed median;
  Needed low;
  Needed high;
};

// The interval is the percentile bootstrap's, over 2,000 resamples drawn from a fixed seed: the same sample
// gives the same interval. Of one run it is the run itself. Nothing where the sample is empty.
std::optional<MedianEstimate> estimate_median(std::span<const Needed> sample);

// The middle one, or the mean of the two in the middle. The sample must not be empty.
Needed median_of(std::span<const Needed> sample);
double median_of(std::vector<double> sample);

struct MeanEstimate {
  double mean = 0;
  double deviation = 0;  // Of the sample: over n - 1; 0 for one.
};

// Nothing where the sample is empty.
std::optional<MeanEstimate> estimate_mean(std::span<const double> sample);

}  // namespace hocket
