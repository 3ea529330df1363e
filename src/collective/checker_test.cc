#include "collective/checker.h"

#include <gtest/gtest.h>

#include <functional>
#include <set>

#include "collective/oracle.h"

namespace hocket {
namespace {

class Checker : public testing::TestWithParam<Collective> {};

std::vector<Call> calls_to_check(const Way& way, int world) {
  std::vector<Call> calls;
  for (const int count : {world - 1, world + 3}) {
    for (const Rank root : has_root(way) ? std::set<Rank>{0, world / 3, world - 1} : std::set<Rank>{0}) {
      Call call = call_of(way, world, static_cast<std::size_t>(count), root);
      call.segment = 5;
      for (Rank rank = 0; rank < world; ++rank) call.group_of.push_back(rank / 3 % 7);
      if (supports(call)) calls.push_back(call);
    }
  }
  return calls;
}

TEST_P(Checker, FindsNoFaultInAnyWorldUpTo64) {
  for (const Way& way : all_ways(GetParam())) {
    for (int world = 1; world <= kLargestCheckedWorld; ++world) {
      for (const Call& call : calls_to_check(way, world)) {
        ASSERT_EQ(find_fault(call).value_or(""), "") << text_of(call);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Collective, Checker,
                         testing::ValuesIn(all_collectives().begin(), all_collectives().end()),
                         [](const auto& param) { return std::string(name_of(param.param)); });

// ---- the checker finds what is wrong ----

using Change = std::function<void(Round& round, std::size_t action)>;

// `schedules` with one action of one rank changed.
std::vector<Schedule> mutated(const std::vector<Schedule>& schedules, std::size_t rank, int index,
                              std::size_t action, const Change& change) {
  std::vector<Schedule> result = schedules;
  const Schedule original = schedules[rank];
  result[rank] = {original.rounds(),
                  [original, index, action, change](int i, Round& round) {
                    original.round(i, round);
                    if (i == index) change(round, action);
                  },
                  original.scratch_size()};
  return result;
}

using Applies = std::function<bool(const Action&)>;

void expect_found_everywhere(const Call& call, const Applies& applies, const Change& change) {
  const std::vector<Schedule> schedules = schedules_of(call);
  Round round;
  for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
    for (int index = 0; index < schedules[rank].rounds(); ++index) {
      schedules[rank].round(index, round);
      for (std::size_t action = 0; action < round.size(); ++action) {
        if (!applies(round[action])) continue;
        EXPECT_TRUE(find_fault(call, mutated(schedules, rank, index, action, change)).has_value())
            << text_of(call) << ", rank " << rank << ", round " << index << ", action " << action;
      }
    }
  }
}

// In every schedule of every way, one action after the other that `applies` accepts.
void expect_found_everywhere(const Applies& applies, const Change& change) {
  for (const Way& way : all_ways()) {
    for (const int world : {2, 3, 4, 5, 6, 8}) {
      const Call call = call_of(way, world, 41, world - 1);
      if (supports(call)) expect_found_everywhere(call, applies, change);
    }
  }
}

bool any(const Action& /*action*/) { return true; }

TEST(CheckerMutation, FindsEveryActionThatIsMissing) {
  expect_found_everywhere(any, [](Round& round, std::size_t action) {
    round.erase(round.begin() + static_cast<std::ptrdiff_t>(action));
  });
}

TEST(CheckerMutation, FindsEveryActionThatIsDoubled) {
  // To copy twice is slow, not wrong.
  const auto applies = [](const Action& action) { return action.kind != Action::Kind::copy; };
  expect_found_everywhere(applies, [](Round& round, std::size_t action) {
    const Action twice = round[action];
    round.insert(round.begin() + static_cast<std::ptrdiff_t>(action), twice);
  });
}

TEST(CheckerMutation, FindsEveryShiftedRange) {
  const auto applies = [](const Action& action) { return action.range.size > 0; };
  expect_found_everywhere(applies, [](Round& round, std::size_t action) { ++round[action].range.offset; });
}

TEST(CheckerMutation, FindsEveryShorterMessage) {
  const auto applies = [](const Action& action) { return action.range.size > 0; };
  expect_found_everywhere(applies, [](Round& round, std::size_t action) { --round[action].range.size; });
}

TEST(CheckerMutation, FindsEverySumThatIsOverwritten) {
  const auto applies = [](const Action& action) {
    return action.kind == Action::Kind::recv_reduce || action.kind == Action::Kind::reduce;
  };
  expect_found_everywhere(applies, [](Round& round, std::size_t action) {
    const bool is_message = round[action].is_message();
    round[action].kind = is_message ? Action::Kind::recv : Action::Kind::copy;
  });
}

std::string fault_of(const Call& call, const std::vector<Round>& rounds_of_ranks) {
  std::vector<Schedule> schedules;
  for (const Round& only_round : rounds_of_ranks) {
    schedules.emplace_back(1, [only_round](int, Round& round) { round = only_round; });
  }
  return find_fault(call, schedules).value_or("");
}

TEST(CheckerFault, NamesRankRoundAndAction) {
  const Call call{.world = 2, .count = 4};
  EXPECT_EQ(fault_of(call, {{send(1, {0, 4}), recv_reduce(1, {0, 4})}, {send(0, {0, 4}), recv(0, {0, 4})}}),
            "rank 0, round 0, action 1 (recv_reduce data [0, 4) from rank 1): writes what the same round "
            "sends (send "
            "data [0, 4) to rank 1)");
  EXPECT_EQ(fault_of(call, {{send(1, {2, 4})}, {recv(0, {0, 4})}}),
            "rank 0, round 0, action 0 (send data [2, 6) to rank 1): outside of the buffer");
  EXPECT_EQ(fault_of(call, {{send(1, {0, 4})}, {recv_reduce(0, {0, 4})}}),
            "rank 0, after 1 rounds, element 0: the contribution of rank 1 is missing");
  EXPECT_EQ(fault_of(call, {{send(1, {0, 2})}, {recv_reduce(0, {0, 3})}}),
            "rank 1, round 0, action 0 (recv_reduce data [0, 3) from rank 0): gets a message of 2 elements");
}

TEST(CheckerFault, SeesACycleOfWaiting) {
  const Call call{.collective = Collective::barrier, .algorithm = Algorithm::bruck, .world = 2};
  std::vector<Schedule> schedules;
  for (const Rank peer : {1, 0}) {  // Both receive before they send.
    schedules.emplace_back(2, [peer](int index, Round& round) {
      round.push_back(index == 0 ? recv(peer, {0, 0}) : send(peer, {0, 0}));
    });
  }
  EXPECT_EQ(find_fault(call, schedules).value_or(""),
            "rank 0, round 0, action 0 (recv data [0, 0) from rank 1): waits for ever, it for rank 1, that "
            "for rank 0, "
            "in a cycle");
}

// Both send first: fine where messages are buffered, not where a send waits for its receive.
TEST(CheckerFault, DoesNotCountOnBuffers) {
  const Call call{.collective = Collective::barrier, .algorithm = Algorithm::bruck, .world = 2};
  std::vector<Schedule> schedules;
  for (const Rank peer : {1, 0}) {
    schedules.emplace_back(2, [peer](int index, Round& round) {
      round.push_back(index == 0 ? send(peer, {0, 0}) : recv(peer, {0, 0}));
    });
  }
  EXPECT_TRUE(find_fault(call, schedules).has_value());
}

TEST(CheckerFault, SeesWhoLeavesABarrierTooEarly) {
  const Call call{.collective = Collective::barrier, .algorithm = Algorithm::bruck, .world = 2};
  EXPECT_EQ(fault_of(call, {{send(1, {0, 0})}, {recv(0, {0, 0})}}),
            "rank 0 leaves the barrier before rank 1 has come in");
}

}  // namespace
}  // namespace hocket
