// Every collective by every algorithm, on the interpreter, against what it must do.

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <numeric>
#include <set>

#include "collective/checker.h"
#include "collective/oracle.h"

namespace hocket {
namespace {

// Every way to carry out one collective.
class EveryWay : public testing::TestWithParam<Collective> {
 protected:
  static std::vector<Way> ways() { return all_ways(GetParam()); }
};

// Every root for short vectors, a few for long ones.
std::set<Rank> roots_for(const Call& call) {
  if (!has_root(Way{call.collective, call.algorithm})) return {0};
  std::set<Rank> roots = {0, call.world / 2};
  for (Rank root = 0; call.count < 1000 && root < call.world; ++root) roots.insert(root);
  return roots;
}

// Groups of one, of two, of unequal sizes, interleaved, and no word of groups.
std::vector<std::vector<Rank>> groupings_for(const Call& call) {
  std::vector<std::vector<Rank>> groupings = {{}};
  if (call.algorithm != Algorithm::hierarchical) return groupings;
  for (const int kind : {0, 1, 2, 3}) {
    std::vector<Rank> group_of;
    for (Rank rank = 0; rank < call.world; ++rank) {
      const std::vector<Rank> choices = {rank, rank / 2, rank < 3 ? call.world - 1 : call.world / 2,
                                         rank % 3};
      group_of.push_back(choices[static_cast<std::size_t>(kind)]);
    }
    groupings.push_back(group_of);
  }
  return groupings;
}

void expect_right_results(const Call& call) {
  for (const Rank root : roots_for(call)) {
    for (const std::vector<Rank>& group_of : groupings_for(call)) {
      Call c = call;
      c.root = root;
      c.group_of = group_of;
      expect_right_result(c);
    }
  }
}

TEST_P(EveryWay, GivesTheRightResultForEveryWorldCountAndRoot) {
  for (const Way& way : ways()) {
    for (const int world : {1, 2, 3, 4, 5, 7, 8, 16}) {
      const auto p = static_cast<std::size_t>(world);
      for (const std::size_t count : std::set<std::size_t>{0, 1, p - 1, p, p + 1, 1000, 65537}) {
        const Call call = call_of(way, world, count);
        if (supports(call)) expect_right_results(call);
      }
    }
  }
}

TEST_P(EveryWay, GivesTheRightResultForShortSegments) {
  for (const Way& way : ways()) {
    for (const int world : {2, 3, 4, 7, 8}) {
      for (const std::size_t segment : {1, 2, 3, 7}) {
        Call call = call_of(way, world, 61, world - 1);
        call.segment = segment;
        if (supports(call)) expect_right_result(call);
      }
    }
  }
}

RC_GTEST_PROP(UnevenBlocks, GiveTheRightResult, ()) {
  const int world = *rc::gen::inRange(1, 17);
  const Rank root = *rc::gen::inRange(0, world);
  const auto p = static_cast<std::size_t>(world);
  const auto matrix =
      *rc::gen::container<std::vector<std::size_t>>(p * p, rc::gen::inRange<std::size_t>(0, 9));
  for (const Way& way : all_ways()) {
    Call call = call_of(way, world, 0, root);
    call.blocks = matrix;
    if (way.collective != Collective::all_to_all) call.blocks.resize(p);
    call.count = std::accumulate(call.blocks.begin(), call.blocks.end(), std::size_t{0});
    if (!supports(call)) continue;
    expect_right_result(call);
    EXPECT_EQ(find_fault(call).value_or(""), "") << text_of(call);
  }
}

using Links = std::multiset<std::pair<Rank, Rank>>;  // From, to.

void expect_messages_within_rounds(const Call& call) {
  const std::vector<Schedule> schedules = schedules_of(call);
  Round round;
  for (int index = 0; index < schedules[0].rounds(); ++index) {
    Links sent;
    Links received;
    for (Rank me = 0; me < call.world; ++me) {
      const Schedule& schedule = schedules[static_cast<std::size_t>(me)];
      ASSERT_EQ(schedule.rounds(), schedules[0].rounds()) << text_of(call);
      schedule.round(index, round);
      for (const Action& action : round) {
        if (action.is_send()) sent.insert({me, action.peer});
        if (action.is_message() && !action.is_send()) received.insert({action.peer, me});
      }
    }
    ASSERT_EQ(sent, received) << text_of(call) << ", round " << index;
  }
}

TEST_P(EveryWay, SendsAndReceivesInTheSameRound) {
  for (const Way& way : ways()) {
    for (const int world : {2, 3, 4, 5, 6, 7, 8, 12, 16}) {
      const Call call = call_of(way, world, 100, world / 2);
      if (supports(call)) expect_messages_within_rounds(call);
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collective, EveryWay,
                         testing::ValuesIn(all_collectives().begin(), all_collectives().end()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

std::vector<std::vector<float>> fractions(int world, std::size_t count) {
  std::vector<std::vector<float>> vectors;
  for (std::size_t rank = 0; rank < static_cast<std::size_t>(world); ++rank) {
    std::vector<float>& vector = vectors.emplace_back();
    for (std::size_t i = 0; i < count; ++i) {
      vector.push_back(1.0F / static_cast<float>(1 + (rank * 7919 + i * 104729) % 1009));
    }
  }
  return vectors;
}

std::vector<float> serial_sum(const std::vector<std::vector<float>>& vectors) {
  std::vector<float> sum = vectors[0];
  for (std::size_t rank = 1; rank < vectors.size(); ++rank) {
    for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += vectors[rank][i];
  }
  return sum;
}

// The part of the sum that a rank ends up with.
Range summed(const Call& call, Rank me) {
  if (call.collective == Collective::all_reduce) return {0, call.count};
  if (call.collective == Collective::reduce_scatter) return split_evenly(call.count, call.world, me);
  return {0, call.collective == Collective::reduce && me == call.root ? call.count : 0};
}

// Floating-point sums depend on their order, so equal bits show that the order is that of a serial sum.
TEST(RankOrder, IsKeptByTheAlgorithmsThatPromiseIt) {
  for (const Way& way : all_ways()) {
    if (!keeps_rank_order(way.algorithm)) continue;
    for (const int world : {2, 3, 5, 8, 16}) {
      const Call call{way.collective, way.algorithm, world, 37, world / 2};
      if (summed(call, call.root).size == 0) continue;
      auto data = fractions(world, call.count);
      const std::vector<float> expected = serial_sum(data);
      interpret<float>(schedules_of(call), data, {}, [](float& into, float from) { into += from; });
      for (Rank me = 0; me < world; ++me) {
        const Range range = summed(call, me);
        for (std::size_t i = range.offset; i < range.end(); ++i) {
          EXPECT_EQ(data[static_cast<std::size_t>(me)][i], expected[i]) << text_of(call) << ", rank " << me;
        }
      }
    }
  }
}

// The notes' example: two ranks with [1, 2, 3] each; chunk 0 is [1, 2], chunk 1 is [3].
TEST(RingAllReduce, SumsTheExampleOfTheNotes) {
  const Call call{.algorithm = Algorithm::ring, .world = 2, .count = 3};
  Round round;
  schedule_of(call, 0).round(0, round);
  EXPECT_EQ(round, (Round{send(1, {2, 1}), recv_reduce(1, {0, 2})}));
  schedule_of(call, 1).round(0, round);
  EXPECT_EQ(round, (Round{send(0, {0, 2}), recv_reduce(0, {2, 1})}));
  schedule_of(call, 0).round(1, round);
  EXPECT_EQ(round, (Round{send(1, {0, 2}), recv(1, {2, 1})}));

  std::vector<std::vector<int>> data = {{1, 2, 3}, {1, 2, 3}};
  interpret<int>(schedules_of(call), data, {}, [](int& into, int from) { into += from; });
  EXPECT_EQ(data, (std::vector<std::vector<int>>{{2, 4, 6}, {2, 4, 6}}));
}

}  // namespace
}  // namespace hocket
