#include "collective/interpreter.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

using Vectors = std::vector<std::vector<int>>;

Schedule of_rounds(std::vector<Round> rounds, std::size_t scratch_size = 0) {
  const int count = static_cast<int>(rounds.size());
  return {count,
          [rounds = std::move(rounds)](int index, Round& round) {
            round = rounds[static_cast<std::size_t>(index)];
          },
          scratch_size};
}

Vectors run_schedules(const std::vector<Schedule>& schedules, Vectors data, const Vectors& input = {}) {
  interpret<int>(schedules, data, input, [](int& into, int from) { into += from; });
  return data;
}

TEST(Interpreter, SendsWhatWasThereWhenTheRoundBegan) {
  const Schedule swap = of_rounds({{recv(1, {0, 1}), send(1, {0, 1})}});
  const Schedule other = of_rounds({{recv(0, {0, 1}), send(0, {0, 1})}});
  EXPECT_EQ(run_schedules({swap, other}, {{1}, {2}}), (Vectors{{2}, {1}}));
}

TEST(Interpreter, TakesTheOtherActionsInTheirOrder) {
  const Schedule me = of_rounds({{recv(1, {0, 2}, Buffer::scratch), reduce(Buffer::scratch, 1, {0, 1}),
                                  copy(Buffer::input, 0, {1, 1}), recv_reduce(1, {1, 1})}},
                                2);
  const Schedule peer = of_rounds({{send(0, {0, 2})}, {send(0, {2, 1})}});
  EXPECT_EQ(run_schedules({me, peer}, {{100, 100}, {1, 2, 3}}, {{50}, {}}), (Vectors{{102, 53}, {1, 2, 3}}));
}

TEST(Interpreter, KeepsMessagesOfTwoRanksInOrder) {
  const Schedule me = of_rounds({{send(1, {0, 1}), send(1, {1, 1})}, {send(1, {2, 1})}});
  const Schedule peer = of_rounds({{recv(0, {0, 1})}, {recv(0, {1, 1}), recv(0, {2, 1})}});
  EXPECT_EQ(run_schedules({me, peer}, {{1, 2, 3}, {0, 0, 0}})[1], (std::vector<int>{1, 2, 3}));
}

TEST(Interpreter, ReportsMessagesThatDoNotMatch) {
  const Schedule nothing;
  EXPECT_THROW(run_schedules({of_rounds({{recv(1, {0, 1})}}), nothing}, {{1}, {2}}), Error);
  EXPECT_THROW(run_schedules({of_rounds({{send(1, {0, 1})}}), nothing}, {{1}, {2}}), Error);
  EXPECT_THROW(run_schedules({of_rounds({{send(1, {0, 1})}}), of_rounds({{recv(0, {0, 2})}})}, {{1}, {2, 3}}),
               Error);
}

}  // namespace
}  // namespace hocket
