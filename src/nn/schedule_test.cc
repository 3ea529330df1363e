#include "nn/schedule.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

TEST(LearningRate, StepsDownAtTheEpochsGiven) {
  const LearningRate rate("step,at=200,factor=0.1", 0.1, 0, 3000, 10);  // 0.1 for 200 epochs, then 0.01.
  EXPECT_DOUBLE_EQ(rate.at(0), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(1999), 0.1);
  EXPECT_DOUBLE_EQ(rate.at(2000), 0.01);
  const LearningRate twice("step,at=1x2,factor=0.5", 1, 0, 100, 10);
  EXPECT_DOUBLE_EQ(twice.at(9), 1);
  EXPECT_DOUBLE_EQ(twice.at(10), 0.5);
  EXPECT_DOUBLE_EQ(twice.at(20), 0.25);
}

TEST(LearningRate, FollowsHalfACosine) {
  const LearningRate rate("cosine", 2, 0, 100, 10);
  EXPECT_DOUBLE_EQ(rate.at(0), 2);
  EXPECT_NEAR(rate.at(50), 1, 1e-12);
  EXPECT_NEAR(rate.at(100), 0, 1e-12);
}

TEST(LearningRate, WarmsUpLinearly) {
  const LearningRate rate("constant", 1, 4, 100, 10);
  EXPECT_DOUBLE_EQ(rate.at(0), 0.25);
  EXPECT_DOUBLE_EQ(rate.at(3), 1);
  EXPECT_DOUBLE_EQ(rate.at(50), 1);
}

TEST(LearningRate, RefusesWhatItDoesNotKnow) {
  EXPECT_THROW(LearningRate("cosin", 1, 0, 1, 1), ConfigError);
  EXPECT_THROW(LearningRate("cosine,at=3", 1, 0, 1, 1), ConfigError);
  EXPECT_THROW(LearningRate("step,at=x", 1, 0, 1, 1), ConfigError);
}

}  // namespace
}  // namespace hocket
