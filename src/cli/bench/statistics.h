#pragma once

#include <vector>

namespace hocket {

// The middle of some figures and how far they spread.
struct Spread {
  double median = 0;
  double p10 = 0;
  double p90 = 0;
};

// Percentiles by linear interpolation between neighbours. `samples` must not be empty.
Spread spread_of(std::vector<double> samples);

}  // namespace hocket
