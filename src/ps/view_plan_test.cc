#include "ps/view_plan.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

namespace hocket {
namespace {

using testing::ElementsAre;

ClusterFacts all_well(int servers, int replicas, int ranges) {
  ClusterFacts facts;
  facts.servers.assign(static_cast<std::size_t>(servers), ServerFact{0, true, false, false, true});
  facts.workers = {0, 0, 0};
  facts.has_caught_up.assign(static_cast<std::size_t>(ranges), false);
  facts.replicas = replicas;
  return facts;
}

TEST(ViewPlan, DealsChainsOfDifferentServersRoundRobin) {
  const View view = first_view(all_well(3, 2, 3), 3);
  EXPECT_THAT(view.chains[0].servers, ElementsAre(0, 1));
  EXPECT_THAT(view.chains[1].servers, ElementsAre(1, 2));
  EXPECT_THAT(view.chains[2].servers, ElementsAre(2, 0));
  EXPECT_THAT(view.slices, ElementsAre(0, 1, 2));
}

TEST(ViewPlan, StaysWhereNothingHappened) {
  const ClusterFacts facts = all_well(3, 2, 3);
  const View view = first_view(facts, 3);
  EXPECT_EQ(next_view(view, facts).epoch, view.epoch);
}

TEST(ViewPlan, SaysWhenAHeadGaveItsPlaceAwayAlive) {
  ClusterFacts facts = all_well(3, 2, 1);
  View view = first_view(facts, 1);
  view.chains[0].servers = {0, 1, 2};
  facts.servers[0].is_leaving = true;
  const View left = next_view(view, facts);
  EXPECT_THAT(left.chains[0].servers, ElementsAre(1, 2));
  EXPECT_EQ(left.chains[0].handed_over, left.epoch);

  facts = all_well(3, 2, 1);
  facts.servers[0] = {0, false, true, false};
  EXPECT_EQ(next_view(view, facts).chains[0].handed_over, 0);
}

TEST(ViewPlan, TheNextInTheChainFollowsADeadHeadAndAnotherServerJoins) {
  ClusterFacts facts = all_well(3, 2, 1);
  const View view = first_view(facts, 1);
  facts.servers[0] = {0, false, true, false};
  const View after = next_view(view, facts);
  EXPECT_EQ(after.epoch, 2);
  EXPECT_THAT(after.chains[0].servers, ElementsAre(1));
  EXPECT_EQ(after.chains[0].joining, 2);
  EXPECT_EQ(after.chains[0].joined, 2);

  facts.has_caught_up = {true};
  const View joined = next_view(after, facts);
  EXPECT_THAT(joined.chains[0].servers, ElementsAre(1, 2));
  EXPECT_EQ(joined.chains[0].joining, -1);
}

TEST(ViewPlan, WhoJoinsBeginsAgainBehindAnotherTail) {
  ClusterFacts facts = all_well(3, 3, 1);
  View view = first_view(facts, 1);
  view.chains[0] = {{0, 1}, 2, 1};
  facts.servers[1].is_live = false;
  facts.servers[1].is_gone = true;
  facts.has_caught_up = {true};  // What server 1 said is worth nothing any more.
  const View after = next_view(view, facts);
  EXPECT_THAT(after.chains[0].servers, ElementsAre(0));
  EXPECT_EQ(after.chains[0].joining, 2);
  EXPECT_EQ(after.chains[0].joined, after.epoch);
}

TEST(ViewPlan, ReplicasThatAreAllSilentAreWaitedFor) {
  ClusterFacts facts = all_well(2, 2, 1);
  const View view = first_view(facts, 1);
  for (ServerFact& server : facts.servers) server = {0, false, true, false};
  EXPECT_EQ(next_view(view, facts).epoch, view.epoch);
}

TEST(ViewPlan, ARangeWhoseReplicasHaveAllStartedAnewIsLost) {
  ClusterFacts facts = all_well(2, 2, 1);
  const View view = first_view(facts, 1);
  for (ServerFact& server : facts.servers) server = {1, true, true, false};
  const View after = next_view(view, facts);
  EXPECT_TRUE(after.chains[0].servers.empty());
  EXPECT_EQ(after.chains[0].joining, -1);
}

TEST(ViewPlan, AServerLeavesOnceAnotherHasItsRange) {
  ClusterFacts facts = all_well(2, 1, 1);
  const View view = first_view(facts, 1);
  facts.servers[0].is_leaving = true;
  const View moving = next_view(view, facts);
  EXPECT_THAT(moving.chains[0].servers, ElementsAre(0));
  EXPECT_EQ(moving.chains[0].joining, 1);
  facts.has_caught_up = {true};
  const View moved = next_view(moving, facts);
  EXPECT_THAT(moved.chains[0].servers, ElementsAre(0, 1));
  facts.servers[1].knows_view = false;
  EXPECT_EQ(next_view(moved, facts).epoch, moved.epoch);
  facts.servers[1].knows_view = true;
  EXPECT_THAT(next_view(moved, facts).chains[0].servers, ElementsAre(1));
}

TEST(ViewPlan, ANewServerGetsItsShareOfTheRanges) {
  ClusterFacts facts = all_well(2, 1, 4);
  View view = first_view(facts, 4);
  facts.servers.push_back({0, true, false, false, true});
  for (int turn = 0; turn < 20; ++turn) {
    view = next_view(view, facts);
    for (std::size_t range = 0; range < 4; ++range)
      facts.has_caught_up[range] = view.chains[range].joining >= 0;
  }
  std::vector<int> loads(3);
  for (const View::Chain& chain : view.chains) ++loads[static_cast<std::size_t>(chain.servers.at(0))];
  EXPECT_EQ(*std::max_element(loads.begin(), loads.end()), 2);
  EXPECT_EQ(*std::min_element(loads.begin(), loads.end()), 1);
}

TEST(ViewPlan, TheSlicesOfALostWorkerGoToTheOthers) {
  ClusterFacts facts = all_well(1, 1, 1);
  const View view = first_view(facts, 1);
  facts.workers = {0, -1, 0};
  EXPECT_THAT(next_view(view, facts).slices, ElementsAre(0, 0, 2));
  facts.workers = {0, 1, 0};
  EXPECT_THAT(next_view(next_view(view, facts), facts).slices, ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace hocket
