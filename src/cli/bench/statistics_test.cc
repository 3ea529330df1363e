#include "cli/bench/statistics.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(Spread, OfOneSampleIsThatSample) {
  const Spread spread = spread_of({3});
  EXPECT_EQ(spread.median, 3);
  EXPECT_EQ(spread.p10, 3);
  EXPECT_EQ(spread.p90, 3);
}

TEST(Spread, InterpolatesBetweenNeighboursInAnyOrder) {
  const Spread spread = spread_of({5, 1, 4, 2, 3, 6});
  EXPECT_DOUBLE_EQ(spread.median, 3.5);
  EXPECT_DOUBLE_EQ(spread.p10, 1.5);
  EXPECT_DOUBLE_EQ(spread.p90, 5.5);
}

}  // namespace
}  // namespace hocket
