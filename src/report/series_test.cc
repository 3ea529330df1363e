#include "report/series.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace hocket {
namespace {

Series series_of(const std::vector<double>& values) {
  Series series;
  for (const double value : values)
    series.push_back({.step = static_cast<double>(series.size()), .value = value});
  return series;
}

double lowest(const Series& series) {
  return std::min_element(series.begin(), series.end(), [](auto& a, auto& b) { return a.value < b.value; })
      ->value;
}

double highest(const Series& series) {
  return std::max_element(series.begin(), series.end(), [](auto& a, auto& b) { return a.value < b.value; })
      ->value;
}

RC_GTEST_PROP(ThinOut, KeepsExtremesEndsAndOrder, ()) {
  const auto values = *rc::gen::nonEmpty(rc::gen::container<std::vector<double>>(
      rc::gen::map(rc::gen::inRange(-1000, 1000), [](int value) { return static_cast<double>(value); })));
  const auto most = *rc::gen::inRange<std::size_t>(5, 40);
  const Series all = series_of(values);
  const Series thin = thin_out(all, most);
  RC_ASSERT(thin.size() <= most);
  RC_ASSERT(lowest(thin) == lowest(all));
  RC_ASSERT(highest(thin) == highest(all));
  RC_ASSERT(thin.front().step == all.front().step);
  RC_ASSERT(thin.back().step == all.back().step);
  RC_ASSERT(std::is_sorted(thin.begin(), thin.end(), [](auto& a, auto& b) { return a.step < b.step; }));
}

TEST(ThinOut, AGapStaysVisible) {
  std::vector<double> values(1000, 1.0);
  values[437] = std::numeric_limits<double>::quiet_NaN();
  const Series thin = thin_out(series_of(values), 100);
  EXPECT_TRUE(std::any_of(thin.begin(), thin.end(), [](auto& point) { return std::isnan(point.value); }));
}

TEST(Smooth, AConstantStaysItselfAndAGapStaysAGap) {
  std::vector<double> values(300, 2.5);
  values[100] = std::numeric_limits<double>::quiet_NaN();
  const Series smoothed = smooth(series_of(values));
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i == 100) {
      EXPECT_TRUE(std::isnan(smoothed[i].value));
    } else {
      EXPECT_NEAR(smoothed[i].value, 2.5, 1e-12);
    }
  }
}

TEST(Smooth, DoesNotLagBehindALine) {
  std::vector<double> values(1000);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  EXPECT_NEAR(smooth(series_of(values))[500].value, 500, 1e-6);
}

TEST(Smooth, NothingStaysNothing) { EXPECT_TRUE(smooth({}).empty()); }

}  // namespace
}  // namespace hocket
