#include "cli/bench/timed_loop.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

TEST(TimedLoop, RunsAsOftenAsRankZeroSays) {
  int calls = 0;
  const auto samples = timed_loop(
      {}, [&] { ++calls; }, [](double) { return 7.0; });
  EXPECT_EQ(samples.size(), 7U);
  EXPECT_GT(calls, 7);
}

TEST(TimedLoop, KeepsToItsBounds) {
  const auto alone = [](double number) { return number; };
  EXPECT_EQ(timed_loop(
                {1e-12, 4, 10}, [] {}, alone)
                .size(),
            4U);
  EXPECT_EQ(timed_loop(
                {1e6, 4, 10}, [] {}, alone)
                .size(),
            10U);
}

}  // namespace
}  // namespace hocket
