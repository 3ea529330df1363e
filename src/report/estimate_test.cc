#include "report/estimate.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

const Needed kNever;

TEST(MedianOf, IsTheMiddleOfAnOddAndTheMeanOfTheTwoOfAnEvenSample) {
  EXPECT_EQ(median_of(std::vector{3.0, 1.0, 2.0}), 2);
  EXPECT_EQ(median_of(std::vector{4.0, 1.0, 2.0, 3.0}), 2.5);
  EXPECT_EQ(median_of(std::vector{7.0}), 7);
}

TEST(MedianOf, NeverIsMoreThanAnyNumber) {
  EXPECT_EQ(median_of(std::vector<Needed>{kNever, 1, 2}), 2);
  EXPECT_EQ(median_of(std::vector<Needed>{kNever, kNever, 2}), kNever);
  EXPECT_EQ(median_of(std::vector<Needed>{1, kNever}), kNever);
  EXPECT_EQ(median_of(std::vector<Needed>{kNever}), kNever);
}

TEST(EstimateMedian, TheSameSampleGivesTheSameInterval) {
  const std::vector<Needed> sample{10, 11, 12, 13, 14, 15, 16};
  const auto first = estimate_median(sample);
  const auto again = estimate_median(sample);
  EXPECT_EQ(first->median, 13);
  EXPECT_EQ(first->low, again->low);
  EXPECT_EQ(first->high, again->high);
  EXPECT_GE(*first->low, 10);
  EXPECT_LT(*first->low, 13);
  EXPECT_GT(*first->high, 13);
  EXPECT_LE(*first->high, 16);
}

TEST(EstimateMedian, OneRunIsItsOwnInterval) {
  const auto one = estimate_median(std::vector<Needed>{5});
  EXPECT_EQ(one->low, 5);
  EXPECT_EQ(one->high, 5);
}

TEST(EstimateMedian, TheIntervalEndsInNeverWhereManyRunsNeverGotThere) {
  const auto some = estimate_median(std::vector<Needed>{1, 2, 3, kNever, kNever});
  EXPECT_EQ(some->median, 3);
  EXPECT_EQ(some->low, 1);
  EXPECT_EQ(some->high, kNever);
  const auto none = estimate_median(std::vector<Needed>{kNever, kNever});
  EXPECT_EQ(none->median, kNever);
  EXPECT_EQ(none->low, kNever);
}

TEST(EstimateMedian, AnEmptySampleHasNone) { EXPECT_FALSE(estimate_median({})); }

TEST(EstimateMean, DividesByOneLessThanTheNumberOfRuns) {
  const std::vector<double> sample{1, 2, 3, 4};
  EXPECT_DOUBLE_EQ(estimate_mean(sample)->mean, 2.5);
  EXPECT_NEAR(estimate_mean(sample)->deviation, 1.2909944, 1e-6);
  EXPECT_EQ(estimate_mean(std::vector{3.0})->deviation, 0);
  EXPECT_FALSE(estimate_mean({}));
}

}  // namespace
}  // namespace hocket
