#include "cli/bench/statistics.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

double percentile(const std::vector<double>& sorted, double share) {
  const double position = share * static_cast<double>(sorted.size() - 1);
  const auto below = static_cast<std::size_t>(position);
  const std::size_t above = std::min(below + 1, sorted.size() - 1);
  return std::lerp(sorted[below], sorted[above], position - static_cast<double>(below));
}

}  // namespace

Spread spread_of(std::vector<double> samples) {
  HOCKET_CHECK(!samples.empty(), "no samples");
  std::sort(samples.begin(), samples.end());
  return {percentile(samples, 0.5), percentile(samples, 0.1), percentile(samples, 0.9)};
}

}  // namespace hocket
