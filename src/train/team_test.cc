#include "train/team.h"

#include <gtest/gtest.h>

#include "net/run_ranks.h"

namespace hocket {
namespace {

TEST(Team, AloneIsFirstAndHasNobodyToTalkTo) {
  Team team;
  EXPECT_TRUE(team.is_alone() && team.is_first());
  EXPECT_EQ(team.size(), 1);
  EXPECT_EQ(team.share("dp").count, 1);
  EXPECT_EQ(team.along("dp"), nullptr);
  EXPECT_TRUE(team.any(true));
  EXPECT_FALSE(team.any(false));
  EXPECT_EQ(team.gather("x"), std::vector<std::string>{"x"});
  EXPECT_EQ(team.transport(), "none");
  EXPECT_THROW(team.attempt([] { throw DataError("bad"); }), DataError);
}

void expect(bool condition, const char* what) {
  if (!condition) throw Error("{}", what);
}

TEST(Team, GathersAndSumsOverItsRanks) {
  const auto errors = run_ranks(4, [](std::unique_ptr<Transport> transport) {
    Team team(std::move(transport), Mesh::parse("dp=2,tp=2", 4));
    const Rank rank = team.rank();
    expect(team.gather(std::string(static_cast<std::size_t>(rank), 'x')) ==
               std::vector<std::string>{"", "x", "xx", "xxx"},
           "texts of any length");
    const double own[] = {rank + 0.5, -1.0};
    expect(team.gather(own) == std::vector<double>{0.5, -1, 1.5, -1, 2.5, -1, 3.5, -1}, "doubles by rank");
    double value = rank;
    team.sum_along("dp", {&value, 1});
    expect(value == (rank % 2 == 0 ? 2 : 4), "ranks 0 and 2, 1 and 3 differ along dp");
    expect(team.any(rank == 3) && !team.any(false), "any");
    expect(team.share_of_host().index == rank && team.share_of_host().count == 4, "one host");
    team.barrier();
    expect(team.traffic().messages_sent > 0, "traffic");
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");
}

TEST(Team, LetsTheLowestRankThatFailedSpeak) {
  const auto errors = run_ranks(3, [](std::unique_ptr<Transport> transport) {
    Team team(std::move(transport), Mesh::parse("", 3));
    team.attempt([] {});
    try {
      team.attempt([&] {
        if (team.rank() > 0) throw ConfigError("no {}", team.rank());
      });
    } catch (const FailedElsewhere& error) {
      expect(team.rank() != 1, "rank 1 has an error of its own");
      throw;
    }
  });
  EXPECT_EQ(errors, (std::vector<std::string>{"rank 1: no 1", "no 1", "rank 1: no 1"}));
}

}  // namespace
}  // namespace hocket
