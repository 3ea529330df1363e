#include "train/balance.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

using Shares = std::vector<std::int64_t>;

TEST(Balance, SharesFollowSpeed) {
  EXPECT_EQ(shares_by_speed(std::vector<double>{3, 1}, 16), (Shares{12, 4}));
  EXPECT_EQ(shares_by_speed(std::vector<double>{1, 1, 1}, 10), (Shares{4, 3, 3}));
  EXPECT_EQ(shares_by_speed(std::vector<double>{1000, 1}, 8), (Shares{7, 1}));
}

TEST(Balance, BeginsEvenAndMovesForAGainAlone) {
  Balance balance(2, 16);
  EXPECT_EQ(balance.shares(), (Shares{8, 8}));
  EXPECT_FALSE(balance.decide(std::vector<double>{1.01, 1}));
  EXPECT_FALSE(balance.decide(std::vector<double>{3, 0}));
  balance.add(30, 2);
  EXPECT_EQ(balance.speed(), 15);
  EXPECT_TRUE(balance.decide(std::vector<double>{3, 1}));
  EXPECT_EQ(balance.shares(), (Shares{12, 4}));
  EXPECT_EQ(balance.speed(), 0);
}

}  // namespace
}  // namespace hocket
