#include "runtime/exchange_order.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/rng.h"

namespace hocket {
namespace {

using testing::ElementsAre;

// Layers 0 to 3 become ready the last one first.
std::vector<ExchangeCourse> backward(double seconds) {
  return {{1, seconds, 3}, {2, seconds, 2}, {3, seconds, 1}, {4, seconds, 0}};
}

TEST(ExchangeOrder, FollowsBackwardWhereTheLinkIsFast) {
  EXPECT_THAT(order_exchanges(backward(0.5)), ElementsAre(0, 1, 2, 3));
}

TEST(ExchangeOrder, LetsTheFirstLayersPassWhereItIsSlow) {
  // The first begins at 1 and ends at 3.5: layers 2 and 1 wait, the earlier one goes. At 6 all are there.
  EXPECT_THAT(order_exchanges(backward(2.5)), ElementsAre(0, 2, 3, 1));
}

TEST(ExchangeOrder, TakesPiecesOfOneExchangeInTheirOrder) {
  const std::vector<ExchangeCourse> courses{{1, 1, 5}, {1, 1, 5}, {1, 1, 5}, {2.5, 1, 0}};
  EXPECT_THAT(order_exchanges(courses), ElementsAre(0, 1, 3, 2));
}

TEST(ExchangeOrder, IsAPermutationWhateverWasSeen) {
  Rng rng{5, 0};
  for (int round = 0; round < 100; ++round) {
    std::vector<ExchangeCourse> courses(rng.below(20));
    for (ExchangeCourse& course : courses)
      course = {rng.uniform(0, 1), rng.uniform(0, 1), static_cast<int>(rng.below(5))};
    EXPECT_EQ(order_exchanges(courses).size(), courses.size());
    EXPECT_TRUE(is_order(order_exchanges(courses)));
  }
}

TEST(ExchangeOrder, ThatNamesOneTwiceOrNotAtAllIsNone) {
  EXPECT_TRUE(is_order({}));
  EXPECT_TRUE(is_order(std::vector<std::int32_t>{2, 0, 1}));
  EXPECT_FALSE(is_order(std::vector<std::int32_t>{2, 0, 2}));
  EXPECT_FALSE(is_order(std::vector<std::int32_t>{0, 1, 3}));
  EXPECT_FALSE(is_order(std::vector<std::int32_t>{0, -1}));
}

}  // namespace
}  // namespace hocket
