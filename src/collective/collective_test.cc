#include "collective/collective.h"

#include <gtest/gtest.h>

#include "collective/oracle.h"

namespace hocket {
namespace {

TEST(Collective, IsFoundByItsName) {
  for (const Collective collective : all_collectives())
    EXPECT_EQ(find_collective(name_of(collective)), collective);
  for (const Algorithm algorithm : all_algorithms()) EXPECT_EQ(find_algorithm(name_of(algorithm)), algorithm);
  EXPECT_EQ(find_reduction(name_of(Reduction::mean)), Reduction::mean);
  EXPECT_EQ(find_algorithm("auto"), Algorithm::automatic);
  EXPECT_EQ(find_algorithm("rings"), std::nullopt);
  EXPECT_EQ(find_collective(""), std::nullopt);
}

TEST(Supports, RefusesWhatAnAlgorithmCannotDo) {
  const auto all_gather = [](int world) {
    return Call{
        .collective = Collective::all_gather, .algorithm = Algorithm::hypercube, .world = world, .count = 8};
  };
  EXPECT_TRUE(supports(all_gather(8)));
  EXPECT_FALSE(supports(all_gather(6)));
  EXPECT_FALSE(supports({.algorithm = Algorithm::automatic, .world = 4}));
  EXPECT_FALSE(supports({.collective = Collective::barrier, .algorithm = Algorithm::ring, .world = 4}));
  EXPECT_FALSE(supports({.world = 0}));
}

TEST(Supports, RefusesRootsGroupsAndBlocksThatDoNotFit) {
  EXPECT_FALSE(
      supports({.collective = Collective::gather, .algorithm = Algorithm::binomial, .world = 4, .root = 4}));
  EXPECT_FALSE(supports({.algorithm = Algorithm::hierarchical, .world = 3, .group_of = {0, 1}}));
  EXPECT_FALSE(supports({.algorithm = Algorithm::hierarchical, .world = 3, .group_of = {0, 1, 3}}));
  EXPECT_TRUE(supports({.algorithm = Algorithm::hierarchical, .world = 3, .group_of = {0, 2, 2}}));

  Call call{.collective = Collective::all_gather, .algorithm = Algorithm::ring, .world = 3, .count = 6};
  call.blocks = {1, 2, 3};
  EXPECT_TRUE(supports(call));
  call.blocks = {1, 2, 2};
  EXPECT_FALSE(supports(call)) << "they do not add up to count";
  call.blocks = {3, 3};
  EXPECT_FALSE(supports(call)) << "one is missing";
}

TEST(Supports, HasSomeWayForEveryCollectiveInEveryWorld) {
  for (const Collective collective : all_collectives()) {
    for (const int world : {1, 2, 3, 7, 10000}) {
      EXPECT_TRUE(supports({.collective = collective, .algorithm = Algorithm::direct, .world = world}))
          << name_of(collective);
    }
  }
}

TEST(Schedule, OfAWorldOfOneHasNoMessages) {
  for (const Way& way : all_ways()) {
    const Schedule schedule =
        schedule_of({.collective = way.collective, .algorithm = way.algorithm, .count = 9}, 0);
    EXPECT_EQ(schedule.rounds(), way.collective == Collective::all_to_all ? 1 : 0) << name_of(way);
  }
}

TEST(AllToAll, HasABlockOfInputAsLargeAsItsBlockOfTheOthersData) {
  const Call call{
      .collective = Collective::all_to_all, .algorithm = Algorithm::exchange, .world = 3, .count = 7};
  EXPECT_EQ(data_size(call, 2), 7U);
  EXPECT_EQ(input_size(call, 0), 9U);
  EXPECT_EQ(input_size(call, 2), 6U);
}

TEST(Blocks, CountOnPastTheLastRank) {
  const Blocks blocks(std::vector<std::size_t>{3, 0, 2, 5});
  EXPECT_EQ(blocks.count(), 10U);
  EXPECT_EQ(blocks[-1], (Range{5, 5}));
  EXPECT_EQ(blocks[6], (Range{3, 2}));
  EXPECT_EQ(blocks.size_around(2, 5), 10U);
  EXPECT_EQ(blocks.size_around(3, 4), 5U);
  EXPECT_EQ(Blocks(10, 4).size_around(3, 5), 5U);
  EXPECT_EQ(Blocks(10, 4, 100)[1], (Range{103, 3}));
}

}  // namespace
}  // namespace hocket
