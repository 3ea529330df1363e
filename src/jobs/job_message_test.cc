#include "jobs/job_message.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

AgentArrives arrival() {
  AgentArrives agent;
  agent.name = "machine";
  agent.slots = 4;
  agent.memory_bytes = 1 << 30;
  agent.rack = 2;
  agent.running = {{1, 2}, {3, 4}};
  agent.ended = {{{5, 6}, -1, 9, "", "last words"}};
  return agent;
}

std::vector<JobMessage> all_messages() {
  return {arrival(),
          StartAttempt{{1, 2}, 3, {"--model", "mlp"}, "/folder", "/home", {{"a", 2}, {"b", 1}}, 1},
          StopAttempt{{1, 2}},
          AttemptEnded{{1, 2}, 3, 0, "why", "line"},
          ForgetAttempt{{1, 2}},
          AgentBeat{},
          AttemptRate{{1, 2}, 1234.5}};
}

TEST(JobMessage, ComesBackAsItWas) {
  for (const JobMessage& message : all_messages()) {
    const auto bytes = encode(message);
    const JobMessage back = decode_job_message(bytes);
    EXPECT_EQ(back.index(), message.index());
    EXPECT_EQ(encode(back), bytes);
  }
  const auto back = std::get<AgentArrives>(decode_job_message(encode(JobMessage(arrival()))));
  EXPECT_EQ(back.running[1].attempt, 4);
  EXPECT_EQ(back.ended[0].last_line, "last words");
  const auto start = std::get<StartAttempt>(decode_job_message(encode(all_messages()[1])));
  EXPECT_EQ(start.parts.at(0).workers, 2);
  EXPECT_EQ(start.parts.at(1).machine, "b");
  EXPECT_EQ(start.part, 1);
}

TEST(JobMessage, TornAndForeignBytesAreRefused) {
  for (const JobMessage& message : all_messages()) {
    const auto bytes = encode(message);
    for (std::size_t length = 0; length < bytes.size(); ++length)
      EXPECT_THROW(decode_job_message(std::span(bytes).first(length)), NetError) << message.index();
    auto longer = bytes;
    longer.push_back(std::byte{0});
    EXPECT_THROW(decode_job_message(longer), NetError);
  }
  EXPECT_THROW(decode_job_message(std::vector<std::byte>{std::byte{77}}), NetError);
}

}  // namespace
}  // namespace hocket
