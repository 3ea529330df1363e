#include "collective/traffic.h"

#include <gtest/gtest.h>

#include <map>

#include "collective/algorithms/algorithms.h"
#include "collective/oracle.h"

namespace hocket {
namespace {

TEST(ScheduleTraffic, CountsMessagesButNotLocalWork) {
  const std::vector<Round> rounds = {{send(1, {0, 3}), send(2, {0, 2}), recv(1, {0, 4}, Buffer::scratch),
                                      recv_reduce(1, {0, 5}), recv(2, {0, 1})},
                                     {copy(Buffer::scratch, 0, {0, 9})},
                                     {recv(2, {0, 0})}};
  const Schedule schedule(3,
                          [&](int index, Round& round) { round = rounds[static_cast<std::size_t>(index)]; });
  const ScheduleTraffic expected{
      .messages = 2, .bytes_sent = 20, .bytes_received = 40, .rounds = 2, .fan_in = 2, .largest_message = 20};
  EXPECT_EQ(traffic_of(schedule, kElementBytes), expected);
}

ScheduleTraffic total_of(const Call& call) { return traffic_of(schedules_of(call), kElementBytes); }

TEST(AllReduce, SendsTwiceOthersTimesAllInEveryWayThatRepeatsNothing) {
  for (const int world : {2, 3, 4, 5, 8, 16}) {
    for (const std::size_t count : {1, 7, 1000, 65537}) {
      const std::int64_t least = 2 * (world - 1) * static_cast<std::int64_t>(count * kElementBytes);
      for (const Algorithm algorithm :
           {Algorithm::direct, Algorithm::master, Algorithm::sharded, Algorithm::binomial,
            Algorithm::halving_doubling, Algorithm::naive_ring, Algorithm::ring, Algorithm::segmented_ring,
            Algorithm::double_tree, Algorithm::hierarchical, Algorithm::ring_2d}) {
        Call call{.algorithm = algorithm, .world = world, .count = count};
        for (Rank rank = 0; rank < world; ++rank) call.group_of.push_back(rank / 3);
        EXPECT_EQ(total_of(call).bytes_sent, least) << text_of(call);
      }
      const Call exchange{.algorithm = Algorithm::exchange, .world = world, .count = count};
      EXPECT_EQ(total_of(exchange).bytes_sent, world * least / 2);
    }
  }
}

TEST(AllReduce, HasTheLargestMessagesOfItsAlgorithm) {
  const auto largest = [](Algorithm algorithm, int world, std::size_t count) {
    return total_of({.algorithm = algorithm, .world = world, .count = count}).largest_message;
  };
  const auto bytes = [](std::size_t elements) { return static_cast<std::int64_t>(elements * kElementBytes); };
  for (const int world : {2, 3, 4, 5, 8, 16}) {
    EXPECT_EQ(largest(Algorithm::master, world, 1000), bytes(1000));
    EXPECT_EQ(largest(Algorithm::ring, world, 1000), bytes(split_evenly(1000, world, 0).size));
    EXPECT_EQ(largest(Algorithm::sharded, world, 1000), bytes(split_evenly(1000, world, 0).size));
    EXPECT_EQ(largest(Algorithm::halving_doubling, world, 1024), bytes(512));
  }
}

TEST(AllReduce, HasAsManyMessagesAsItsAlgorithm) {
  for (const int world : {2, 3, 4, 5, 8, 16}) {
    const auto messages = [&](Algorithm algorithm) {
      return total_of({.algorithm = algorithm, .world = world, .count = 65536, .segment = 1024}).messages;
    };
    EXPECT_EQ(messages(Algorithm::master), 2 * (world - 1));
    EXPECT_EQ(messages(Algorithm::binomial), 2 * (world - 1));
    EXPECT_EQ(messages(Algorithm::exchange), world * (world - 1));
    EXPECT_EQ(messages(Algorithm::sharded), 2 * world * (world - 1));
    EXPECT_EQ(messages(Algorithm::ring), 2 * world * (world - 1));
    EXPECT_EQ(messages(Algorithm::double_tree), 2 * 2 * (world - 1) * 32);
    const int segments = (65536 / world + 1023 + (65536 % world != 0 ? 1 : 0)) / 1024;
    EXPECT_EQ(messages(Algorithm::segmented_ring), 2 * world * (world - 1) * segments);
  }
}

TEST(Gather, PassesOneMessageALevelThroughTheRoot) {
  for (const int world : {2, 3, 4, 5, 8, 16}) {
    for (Rank root = 0; root < world; ++root) {
      const Call call{Collective::gather, Algorithm::binomial, world, 1000, root};
      EXPECT_EQ(total_of(call).messages, world - 1);
      const Call scatter{Collective::scatter, Algorithm::binomial, world, 1000, root};
      EXPECT_EQ(total_of(scatter).messages, world - 1);
      EXPECT_EQ(traffic_of(schedule_of(scatter, root), kElementBytes).messages, ceil_log2(world));
    }
  }
}

// ---- double trees ----

// Whether a rank has children, which it receives sums from, in the first or the second half of the data.
bool is_inner(const Schedule& schedule, Range half) {
  Round round;
  for (int index = 0; index < schedule.rounds(); ++index) {
    schedule.round(index, round);
    for (const Action& action : round) {
      if (action.kind == Action::Kind::recv_reduce && action.range.offset >= half.offset &&
          action.range.end() <= half.end()) {
        return true;
      }
    }
  }
  return false;
}

TEST(DoubleTree, HasNoRankThatIsAnInnerNodeOfBothTreesAndNoneThatSendsMoreThanTwiceTheData) {
  for (int world = 2; world <= 64; ++world) {
    const Call call{.algorithm = Algorithm::double_tree, .world = world, .count = 1000, .segment = 50};
    for (Rank rank = 0; rank < world; ++rank) {
      const Schedule schedule = schedule_of(call, rank);
      EXPECT_FALSE(is_inner(schedule, {0, 500}) && is_inner(schedule, {500, 500})) << world << ", " << rank;
      const ScheduleTraffic traffic = traffic_of(schedule, 1);
      EXPECT_LE(traffic.bytes_sent, 2 * 1000);
      EXPECT_LE(traffic.bytes_received, 2 * 1000);
      EXPECT_LE(traffic.fan_in, 4);
    }
  }
}

// ---- what crosses between groups ----

std::map<Rank, std::size_t> sent_across(const Call& call) {
  std::map<Rank, std::size_t> sent;
  Round round;
  for (Rank me = 0; me < call.world; ++me) {
    const Rank group = call.group_of[static_cast<std::size_t>(me)];
    const Schedule schedule = schedule_of(call, me);
    for (int index = 0; index < schedule.rounds(); ++index) {
      schedule.round(index, round);
      for (const Action& action : round) {
        const bool crosses =
            action.is_send() && call.group_of[static_cast<std::size_t>(action.peer)] != group;
        if (crosses) sent[group] += action.range.size;
      }
    }
  }
  return sent;
}

TEST(Hierarchical, SendsTheLeastPossibleAcrossGroups) {
  struct Case {
    std::vector<Rank> group_of;
    int groups;
  };
  for (const Case& c : {Case{{0, 0, 0, 0, 1, 1, 1, 1}, 2}, Case{{0, 1, 2, 0, 1, 2}, 3},
                        Case{{0, 0, 0, 4, 4, 2, 2, 2, 2}, 3}, Case{{0, 0, 0, 1}, 2}, Case{{3, 2, 1, 0}, 4}}) {
    const Call call{.algorithm = Algorithm::hierarchical,
                    .world = static_cast<int>(c.group_of.size()),
                    .count = 12000,
                    .group_of = c.group_of};
    const auto sent = sent_across(call);
    EXPECT_EQ(sent.size(), static_cast<std::size_t>(c.groups));
    const auto groups = static_cast<std::size_t>(c.groups);
    for (const auto& entry : sent)
      EXPECT_EQ(entry.second, 2 * 12000 * (groups - 1) / groups) << text_of(call);
    EXPECT_EQ(total_of(call).bytes_sent, 2 * (call.world - 1) * 12000 * 4);
  }
}

TEST(Hierarchical, TakesARingInTheLargestGroupAndOneAcross) {
  const Call call{.algorithm = Algorithm::hierarchical,
                  .world = 9,
                  .count = 12000,
                  .group_of = {0, 0, 0, 4, 4, 2, 2, 2, 2}};
  EXPECT_EQ(total_of(call).rounds, 2 * (4 - 1) + 2 * (3 - 1));
  EXPECT_EQ(total_of(call).fan_in, 1);
}

}  // namespace
}  // namespace hocket
