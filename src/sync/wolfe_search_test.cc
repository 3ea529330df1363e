#include "sync/wolfe_search.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace hocket {
namespace {

struct Curve {
  std::function<double(double)> value;
  std::function<double(double)> slope;
};

const Curve kCurves[] = {
    {[](double x) { return (x - 3) * (x - 3); }, [](double x) { return 2 * (x - 3); }},
    {[](double x) { return std::cosh(x - 0.001); }, [](double x) { return std::sinh(x - 0.001); }},
    {[](double x) { return -x / (x * x + 2); },
     [](double x) { return (x * x - 2) / ((x * x + 2) * (x * x + 2)); }},
    {[](double x) { return std::sin(5 * x) - x; }, [](double x) { return 5 * std::cos(5 * x) - 1; }},
    {[](double x) { return std::exp(4 * x) - 100 * x; }, [](double x) { return 4 * std::exp(4 * x) - 100; }},
};

TEST(WolfeSearch, EndsWhereBothConditionsHold) {
  const WolfeOptions options;
  for (const Curve& curve : kCurves) {
    for (const double first : {1e-4, 0.01, 0.3, 1.0, 20.0, 1000.0}) {
      const double value = curve.value(0), slope = curve.slope(0);
      if (slope >= 0) continue;
      WolfeSearch search(value, slope, first, options);
      int trials = 1;
      while (!search.answer(curve.value(search.trial()), curve.slope(search.trial()))) ++trials;
      ASSERT_FALSE(search.has_failed()) << &curve - kCurves << " from " << first;
      const double length = search.trial();
      EXPECT_LE(curve.value(length), value + options.decrease * length * slope) << &curve - kCurves;
      EXPECT_LE(std::abs(curve.slope(length)), -options.curvature * slope)
          << &curve - kCurves << " " << first;
      EXPECT_LE(trials, options.trials);
    }
  }
}

TEST(WolfeSearch, FailsWhereNothingDecreases) {
  WolfeSearch search(1, -1, 1);
  while (!search.answer(2, 1)) EXPECT_GT(search.trial(), 0);
  EXPECT_TRUE(search.has_failed());
}

TEST(WolfeSearch, ComesBackFromWhereTheFunctionIsNotFinite) {
  WolfeSearch search(0, -1, 100);  // x² - x, and nothing beyond 2.
  while (true) {
    const double x = search.trial();
    if (search.answer(x < 2 ? x * x - x : std::nan(""), x < 2 ? 2 * x - 1 : std::nan(""))) break;
  }
  EXPECT_FALSE(search.has_failed());
  EXPECT_NEAR(search.trial(), 0.5, 0.46);
}

TEST(WolfeSearch, TakesTheBestDecreaseWhenTrialsRunOut) {
  WolfeSearch search(0, -1, 1, {.trials = 3});  // A line that falls for ever.
  while (!search.answer(-search.trial(), -1)) continue;
  EXPECT_FALSE(search.has_failed());
  EXPECT_GT(search.trial(), 1);
}

}  // namespace
}  // namespace hocket
