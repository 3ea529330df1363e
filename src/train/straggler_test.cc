#include "train/straggler.h"

#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

TrainOptions slow(std::string list) {
  TrainOptions options;
  options.slow = std::move(list);
  return options;
}

std::string refusal(const std::string& list) {
  try {
    const Straggler straggler(slow(list), 0, 4);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Straggler, LeavesOthersAlone) {
  const Straggler straggler({}, 0, 1);
  EXPECT_FALSE(straggler.is_active());
  EXPECT_EQ(straggler.seconds_left(3, 0.5), 0);
  EXPECT_FALSE(Straggler(slow("1=10"), 0, 4).is_active());
  EXPECT_FALSE(is_emulated({}));
  EXPECT_TRUE(is_emulated(slow("1=10")));
}

TEST(Straggler, SleepsTheRestOfASlowStep) {
  EXPECT_DOUBLE_EQ(Straggler(slow("1=10,3=2.5"), 1, 4).seconds_left(0, 0.1), 0.9);
  EXPECT_DOUBLE_EQ(Straggler(slow("1=10,3=2.5"), 3, 4).seconds_left(7, 0.1), 0.15);
}

TEST(Straggler, EmulatedComputationTakesAtLeastItsTime) {
  TrainOptions options = slow("1=4");
  options.emulate_compute = 0.05;
  EXPECT_DOUBLE_EQ(Straggler(options, 0, 2).seconds_left(0, 0.02), 0.03);
  EXPECT_EQ(Straggler(options, 0, 2).seconds_left(0, 0.08), 0);
  EXPECT_DOUBLE_EQ(Straggler(options, 1, 2).seconds_left(0, 0.02), 0.18);
}

TEST(Straggler, JitterHasItsMeanAndItsCoefficientOfVariation) {
  TrainOptions options;
  options.emulate_compute = 1;
  options.jitter = 0.3;
  const Straggler straggler(options, 2, 4);
  double sum = 0, squares = 0;
  constexpr int kSteps = 20000;
  for (int step = 0; step < kSteps; ++step) {
    const double seconds = straggler.seconds_left(step, 0);
    sum += seconds;
    squares += seconds * seconds;
  }
  const double mean = sum / kSteps;
  EXPECT_NEAR(mean, 1, 0.02);
  EXPECT_NEAR(std::sqrt(squares / kSteps - mean * mean) / mean, 0.3, 0.02);
}

TEST(Straggler, JitterIsAFunctionOfSeedRankAndStep) {
  TrainOptions options;
  options.emulate_compute = 1;
  options.jitter = 0.3;
  const double first = Straggler(options, 0, 2).seconds_left(5, 0);
  EXPECT_EQ(first, Straggler(options, 0, 2).seconds_left(5, 0));
  EXPECT_NE(first, Straggler(options, 0, 2).seconds_left(6, 0));
  EXPECT_NE(first, Straggler(options, 1, 2).seconds_left(5, 0));
  options.seed = 2;
  EXPECT_NE(first, Straggler(options, 0, 2).seconds_left(5, 0));
}

TEST(Straggler, RefusesWhatIsNoListOfRanks) {
  for (const char* list : {"1", "1=", "=2", "x=2", "1=0.5", "1=nan", "1=2,,2=3", "1=2x", "1=1e9"}) {
    EXPECT_NE(refusal(list).find("expected RANK=FACTOR"), std::string::npos) << list << ": " << refusal(list);
  }
  EXPECT_EQ(refusal("4=2"), "--slow: there is no rank 4 among 4 workers");
}

}  // namespace
}  // namespace hocket
