#include "report/series.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace hocket {

Series thin_out(const Series& series, std::size_t most) {
  constexpr std::size_t kPerStretch = 5;
  if (series.size() <= most || most < kPerStretch) return series;
  const std::size_t stretches = most / kPerStretch;
  Series result;
  for (std::size_t i = 0; i < stretches; ++i) {
    const auto first = series.begin() + static_cast<std::ptrdiff_t>(i * series.size() / stretches);
    const auto last = series.begin() + static_cast<std::ptrdiff_t>((i + 1) * series.size() / stretches);
    auto lowest = first;
    auto highest = first;
    auto gap = first;
    for (auto at = first; at != last; ++at) {
      if (std::isnan(at->value)) gap = at;
      if (std::isnan(lowest->value) || at->value < lowest->value) lowest = at;
      if (std::isnan(highest->value) || at->value > highest->value) highest = at;
    }
    for (const auto at : std::set{first, lowest, highest, gap, last - 1}) result.push_back(*at);
  }
  return result;
}

Series smooth(const Series& series) {
  const double half_life = std::max(1.0, static_cast<double>(series.size()) / 100);
  const double keep = std::exp2(-1 / half_life);
  Series result = series;
  std::vector<double> weights(series.size(), 0);
  for (Point& point : result) point.value = 0;
  // One pass each way, so that the curve does not lag behind; the point itself counts in the first one only.
  const auto pass = [&](auto index_of, double own) {
    double sum = 0;
    double weight = 0;
    for (std::size_t i = 0; i < series.size(); ++i) {
      const std::size_t at = index_of(i);
      const bool counts = !std::isnan(series[at].value);
      const double value = counts ? series[at].value : 0;
      sum *= keep;
      weight *= keep;
      result[at].value += sum + own * value;
      weights[at] += weight + (counts ? own : 0);
      sum += value;
      weight += counts ? 1 : 0;
    }
  };
  pass([](std::size_t i) { return i; }, 1);
  pass([&](std::size_t i) { return series.size() - 1 - i; }, 0);
  for (std::size_t i = 0; i < series.size(); ++i) {
    result[i].value = std::isnan(series[i].value) ? series[i].value : result[i].value / weights[i];
  }
  return result;
}

}  // namespace hocket
