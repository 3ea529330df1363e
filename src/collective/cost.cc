// The fit: iteratively reweighted least squares with Huber's weights, whose scale is the median absolute
// residual (Huber, Robust Statistics, 1981).
#include "collective/cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

namespace hocket {
namespace {

struct Line {
  double alpha = 0;
  double beta = 0;

  double error(const TransferSample& sample) const {  // As a share of what was measured.
    return (alpha + beta * static_cast<double>(sample.bytes)) / sample.time.count() - 1;
  }
};

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

// Sums of weight * u^i * v^j, where u = 1 / time and v = bytes / time: the line minimises the weighted sum of
// (alpha u + beta v - 1)^2.
struct Sums {
  double uu = 0, uv = 0, vv = 0, u = 0, v = 0;

  void add(const TransferSample& sample, double weight) {
    const double su = 1 / sample.time.count();
    const double sv = static_cast<double>(sample.bytes) * su;
    uu += weight * su * su;
    uv += weight * su * sv;
    vv += weight * sv * sv;
    u += weight * su;
    v += weight * sv;
  }

  Line line() const {
    const double determinant = uu * vv - uv * uv;
    const Line alpha_alone{uu > 0 ? u / uu : 0, 0};
    if (!(determinant > 1e-12 * uu * vv)) return alpha_alone;
    const Line both{(u * vv - v * uv) / determinant, (v * uu - u * uv) / determinant};
    if (both.beta < 0) return alpha_alone;
    return both.alpha < 0 ? Line{0, v / vv} : both;
  }
};

std::vector<double> errors(const Line& line, std::span<const TransferSample> samples) {
  std::vector<double> result;
  for (const TransferSample& sample : samples) {
    if (sample.time.count() > 0) result.push_back(std::abs(line.error(sample)));
  }
  return result;
}

}  // namespace

Seconds price(const Schedule& schedule, Rank me, const Topology& topology, std::size_t element_bytes) {
  Seconds total{0};
  Round round;
  for (int i = 0; i < schedule.rounds(); ++i) {
    schedule.round(i, round);
    Seconds sending{0};
    Seconds receiving{0};
    for (const Action& action : round) {
      if (!action.is_message()) continue;
      (action.is_send() ? sending : receiving) +=
          topology.link(me, action.peer).time(action.range.size * element_bytes);
    }
    total += std::max(sending, receiving);
  }
  return total;
}

LinkFit fit_link(std::span<const TransferSample> samples) {
  constexpr int kIterations = 30;
  constexpr double kHuber = 1.345 * 1.4826;  // Errors beyond so many median ones lose weight.
  Line line;
  double scale = std::numeric_limits<double>::infinity();
  for (int i = 0; i < kIterations; ++i) {
    Sums sums;
    for (const TransferSample& sample : samples) {
      if (sample.time.count() <= 0) continue;
      const double error = std::abs(line.error(sample));
      sums.add(sample, error <= scale ? 1 : scale / error);
    }
    line = sums.line();
    scale = kHuber * median(errors(line, samples));
  }
  return {{Seconds(line.alpha), line.beta}, median(errors(line, samples))};
}

}  // namespace hocket
