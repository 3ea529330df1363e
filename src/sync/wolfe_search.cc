#include "sync/wolfe_search.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

constexpr double kGrowth = 2;
constexpr double kMargin = 0.1;  // Of the interval: no nearer to its ends.

}  // namespace

WolfeSearch::WolfeSearch(double value, double slope, double first, const WolfeOptions& options)
    : options_(options), start_{0, value, slope}, low_(start_), trial_(first) {
  HOCKET_CHECK(slope < 0 && first > 0, "slope {}, first length {}", slope, first);
}

bool WolfeSearch::decreases_enough(const Point& point) const {
  return point.value <= start_.value + options_.decrease * point.length * start_.slope;
}

bool WolfeSearch::is_flat_enough(const Point& point) const {
  return std::abs(point.slope) <= -options_.curvature * start_.slope;
}

bool WolfeSearch::answer(double value, double slope) {
  const Point point{trial_, value, slope};
  if (is_last_ || (decreases_enough(point) && is_flat_enough(point))) return true;
  if (++trials_ >= options_.trials) return give_up(point);
  if (has_interval_) {
    narrow(point);
  } else {
    bracket(point);
  }
  return false;
}

// Any decrease will do; the best point so far is tried once more, as what was found there is gone.
bool WolfeSearch::give_up(const Point& point) {
  if (point.value < start_.value) return true;
  has_failed_ = low_.length == 0;
  is_last_ = true;
  trial_ = low_.length;
  return has_failed_;
}

// Goes further until there is an interval that holds a good length.
void WolfeSearch::bracket(const Point& point) {
  if (!decreases_enough(point) || point.value >= low_.value) {
    high_ = point;
    has_interval_ = true;
  } else if (point.slope >= 0) {
    high_ = low_;
    low_ = point;
    has_interval_ = true;
  } else {
    low_ = point;
  }
  trial_ = has_interval_ ? interpolate() : kGrowth * point.length;
}

void WolfeSearch::narrow(const Point& point) {
  if (!decreases_enough(point) || point.value >= low_.value) {
    high_ = point;
  } else {
    if (point.slope * (high_.length - low_.length) >= 0) high_ = low_;
    low_ = point;
  }
  trial_ = interpolate();
}

// The minimum of the cubic through both ends and their slopes, well inside the interval.
double WolfeSearch::interpolate() const {
  const double width = high_.length - low_.length;
  const double a = low_.slope + high_.slope - 3 * (high_.value - low_.value) / width;
  const double root = a * a - low_.slope * high_.slope;
  const double b = std::copysign(std::sqrt(root), width);
  double share = 1 - (high_.slope + b - a) / (high_.slope - low_.slope + 2 * b);
  if (!std::isfinite(share)) share = 0.5;
  return low_.length + width * std::clamp(share, kMargin, 1 - kMargin);
}

}  // namespace hocket
