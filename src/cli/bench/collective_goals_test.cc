#include "cli/bench/collective_goals.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

CollectiveRow collective_row(const char* peer, const char* transport, int ranks, std::size_t bytes,
                             double us) {
  return {peer, "all_reduce", "any", transport, ranks, bytes, {us, us, us}, {}, {us, us}};
}

TEST(CollectiveGoals, AreJudgedAtTheSizeThatComesOffWorst) {
  const std::vector<CollectiveRow> rows = {collective_row("hocket", "tcp", 2, 1 << 20, 100),
                                           collective_row("hocket", "tcp", 2, 1 << 24, 100),
                                           collective_row("openmpi-tcp", "tcp", 2, 1 << 20, 130),
                                           collective_row("openmpi-tcp", "tcp", 2, 1 << 24, 110)};
  const auto results = judge(rows);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results.front().worst->bytes, std::size_t{1} << 24);
  EXPECT_DOUBLE_EQ(results.front().ratio.median, 1.1);
  EXPECT_FALSE(results.front().holds());
}

TEST(CollectiveGoals, SayNothingOfWhatWasNotMeasured) {
  EXPECT_TRUE(judge({}).empty());
  const std::vector<CollectiveRow> alone = {collective_row("hocket", "shm", 2, 4, 1)};
  EXPECT_TRUE(judge(alone).empty());
}

TEST(PairedRatio, ComparesRoundByRound) {
  CollectiveRow ours = collective_row("hocket", "shm", 2, 4, 1);
  CollectiveRow theirs = collective_row("gloo", "tcp", 2, 4, 1);
  ours.samples = {1, 10, 1};
  theirs.samples = {2, 20, 4};
  EXPECT_DOUBLE_EQ(paired_ratio(ours, theirs).median, 2);
}

}  // namespace
}  // namespace hocket
