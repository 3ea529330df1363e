#include "sync/adacomm.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/error.h"

namespace hocket {
namespace {

TEST(AdaComm, FollowsTheFormulaWithTheFirstPeriodOutsideTheRoot) {
  const AdaCommRule rule{20, 0.1, 2.0};
  EXPECT_EQ(next_period(rule, 20, 0.1, 0.5), 10);          // ⌈√(1/4)·20⌉, not ⌈√(20/4)⌉.
  EXPECT_EQ(next_period(rule, 20, 0.1, 1.0), 15);          // ⌈14.14⌉
  EXPECT_EQ(next_period(rule, 20, 0.4, 2.0), 10);          // A rate four times as high.
  EXPECT_EQ(next_period(rule, 20, 0.025, 0.125), 10);      // √(4/16)
  EXPECT_EQ(next_period(rule, 3, 0.1, 2e-9), 1);           // Never less than one.
  EXPECT_EQ(next_period({100, 0.1, 3}, 100, 0.1, 1), 58);  // ⌈57.7⌉
}

TEST(AdaComm, HalvesWhereTheFormulaWouldNotFall) {
  const AdaCommRule rule{20, 0.1, 2.0};
  EXPECT_EQ(next_period(rule, 20, 0.1, 2.0), 10);   // 20 again.
  EXPECT_EQ(next_period(rule, 10, 0.1, 0.5), 5);    // 10 again.
  EXPECT_EQ(next_period(rule, 7, 0.1, 1.0), 4);     // 15 would be more.
  EXPECT_EQ(next_period(rule, 10, 0.001, 0.5), 5);  // A fallen rate asks for 100.
  EXPECT_EQ(next_period(rule, 1, 0.1, 2.0), 1);
  EXPECT_EQ(next_period(rule, 8, 0.1, std::numeric_limits<double>::quiet_NaN()), 4);
}

// Steps with a loss of 4/(1 + steps/40): the periods that follow, each with the step after which it holds.
TEST(AdaComm, TakesItsSequenceFromTheLossAtTheEndOfEachInterval) {
  AdaComm adacomm(8, {0, 30});
  adacomm.begin(4, 0.1);
  std::vector<std::pair<std::int64_t, std::int64_t>> found;
  for (std::int64_t step = 1; step <= 200; ++step) {
    if (!adacomm.is_due(step)) continue;
    const double loss = 4 / (1 + static_cast<double>(step) / 40);
    if (adacomm.observe({step, 0, loss, 0.1})) found.emplace_back(step, adacomm.period());
  }
  // ⌈8·√(40/(40+32))⌉ = 6 after four rounds of 8; ⌈8·√(40/102)⌉ = 6 does not fall: 3; ⌈8·√(40/132)⌉ = 5:
  // 2; 1.
  const std::vector<std::pair<std::int64_t, std::int64_t>> expected{{32, 6}, {62, 3}, {92, 2}, {122, 1}};
  EXPECT_EQ(found, expected);
}

TEST(AdaComm, MeasuresIntervalsInSecondsWhereAsked) {
  AdaComm adacomm(8, {10, 0});
  adacomm.begin(4, 0.1);
  EXPECT_FALSE(adacomm.observe({8, 9.5, 1, 0.1}));
  EXPECT_TRUE(adacomm.observe({16, 10.5, 1, 0.1}));
  EXPECT_EQ(adacomm.period(), 4);
  EXPECT_FALSE(adacomm.observe({20, 20.4, 0.25, 0.1}));  // The next one began at 10.5.
  EXPECT_TRUE(adacomm.observe({24, 20.5, 0.25, 0.1}));
  EXPECT_EQ(adacomm.period(), 2);
}

TEST(AdaComm, GoesOnFromItsText) {
  AdaComm before(8, {0, 30});
  before.begin(1.0 / 3, 0.1);
  before.observe({32, 1e-3 / 3, 0.1, 0.1});
  AdaComm after(8, {0, 30});
  after.restore(before.text());
  EXPECT_EQ(after.text(), before.text());
  EXPECT_EQ(after.period(), before.period());
  EXPECT_THROW(after.restore("none of it"), ConfigError);
}

}  // namespace
}  // namespace hocket
