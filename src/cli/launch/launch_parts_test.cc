#include <gtest/gtest.h>
#include <sys/wait.h>

#include <algorithm>

#include "base/error.h"
#include "cli/launch/agent_message.h"
#include "cli/launch/host_list.h"
#include "cli/launch/rank_command.h"
#include "cli/launch/rank_output.h"
#include "cli/launch/rank_process.h"
#include "net/job_key.h"

namespace hocket {
namespace {

TEST(HostList, CountsRanksThroughAllHosts) {
  const auto hosts = parse_hosts("a:2,b,c-1.example:3");
  ASSERT_EQ(hosts.size(), 3U);
  EXPECT_EQ(hosts[0].ranks, (std::vector<Rank>{0, 1}));
  EXPECT_EQ(hosts[1].ranks, (std::vector<Rank>{2}));
  EXPECT_EQ(hosts[2].host, "c-1.example");
  EXPECT_EQ(hosts[2].ranks, (std::vector<Rank>{3, 4, 5}));
}

TEST(HostList, RefusesWhatIsNone) {
  for (const char* text : {"", "a,,b", "a:", "a:0", "a:x", ":2", "a:2,", "-oProxyCommand=x:1"}) {
    EXPECT_THROW(parse_hosts(text), ConfigError) << text;
  }
}

TEST(RankOutput, TagsWholeLinesAndKeepsTheLastOnes) {
  std::string written;
  RankOutput output(true, [&](OutputKind, std::string_view text) { written += text; });
  output.take(1, OutputKind::err, "one\ntw");
  output.take(0, OutputKind::err, "other\n");
  output.take(1, OutputKind::err, "o\nthree");
  EXPECT_EQ(written, "[1] one\n[0] other\n[1] two\n");
  output.end(1);
  EXPECT_EQ(written, "[1] one\n[0] other\n[1] two\n[1] three\n");
  EXPECT_EQ(output.last_lines(1), (std::deque<std::string>{"one", "two", "three"}));
}

TEST(RankOutput, WithoutTagsPassesBytesOnAsTheyCome) {
  std::string written;
  RankOutput output(false, [&](OutputKind, std::string_view text) { written += text; });
  output.take(0, OutputKind::err, "50 %\r");
  EXPECT_EQ(written, "50 %\r");
  for (int i = 0; i < 100; ++i) output.take(0, OutputKind::err, "line " + std::to_string(i) + "\n");
  EXPECT_EQ(output.last_lines(0).size(), 20U);
  EXPECT_EQ(output.last_lines(0).back(), "line 99");
  output.take(1, OutputKind::err, std::string(1 << 20, 'x'));  // A line without end takes bounded memory.
  EXPECT_FALSE(output.last_lines(1).empty());
}

TEST(RankCommand, ReplacesWhatOtherLaunchersLeft) {
  RankCommand command;
  command.environment = {"PATH=/bin", "RANK=9", "HOCKET_JOB_KEY=secret", "HOCKET_TRAIN__LR=1"};
  command.world_size = 4;
  command.coordinator = {"127.0.0.1", 4711};
  const auto all = environment_of(command, random_key(), 2, 0, 2, 5);
  const auto has = [&](std::string_view text) {
    return std::find(all.begin(), all.end(), text) != all.end();
  };
  EXPECT_TRUE(has("PATH=/bin") && has("HOCKET_TRAIN__LR=1"));
  EXPECT_TRUE(has("RANK=2") && has("HOCKET_RANK=2") && has("HOCKET_COORDINATOR=127.0.0.1:4711"));
  EXPECT_FALSE(has("RANK=9") || has("HOCKET_JOB_KEY=secret"));
  EXPECT_EQ(environment_for_other_hosts(command.environment),
            (std::vector<std::string>{"HOCKET_TRAIN__LR=1"}));
}

TEST(RankProcess, SaysHowItEnded) {
  EXPECT_EQ(exit_text(W_EXITCODE(3, 0)), "ended with exit code 3");
  EXPECT_EQ(exit_text(9), "was killed by signal 9 (Killed)");
}

TEST(RankProcess, ReportsAProgramThatDoesNotExist) {
  ProcessOptions options;
  options.words = {"/nonexistent/program"};
  EXPECT_THROW(start_process(options), ConfigError);
}

TEST(AgentMessage, ReadsBackWhatWasWrittenAndNothingElse) {
  StartRanks start;
  start.command.words = {"program", "--with space", ""};
  start.command.environment = {"A=B"};
  start.command.coordinator = {"::1", 5};
  start.ranks = {2, 3};
  const std::vector<AgentMessage> all{start,
                                      SignalRanks{15},
                                      RankStarted{1, 2, "h"},
                                      RankWrote{1, OutputKind::err, "x\n"},
                                      RankEnded{1, 9},
                                      CannotStart{"no"},
                                      StillHere{}};
  for (const AgentMessage& message : all) {
    std::vector<std::byte> bytes = encode(message);
    EXPECT_EQ(encode(decode_agent(bytes)), bytes);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      EXPECT_THROW(decode_agent(std::span(bytes).first(size)), NetError);
    }
    bytes.push_back({});
    EXPECT_THROW(decode_agent(bytes), NetError);
  }
  EXPECT_EQ(std::get<StartRanks>(decode_agent(encode(start))).command.words, start.command.words);
}

}  // namespace
}  // namespace hocket
