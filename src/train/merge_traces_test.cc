#include "train/merge_traces.h"

#include <gtest/gtest.h>

#include <map>
#include <nlohmann/json.hpp>

#include "net/run_ranks.h"
#include "train/span_recorder.h"

namespace hocket {
namespace {

using nlohmann::json;

TEST(ClockOffset, IsBoundedByEachBarrier) {
  // The other clock is 100 ahead. Of the first barrier little is known, of the second more.
  const std::vector<double> first{0, 30, 50, 54};
  const std::vector<double> other{110, 125, 151, 153};
  const double offset = clock_offset(first, other);
  EXPECT_GE(offset, 151 - 54);
  EXPECT_LE(offset, 153 - 50);
  EXPECT_EQ(offset, 100);
  EXPECT_EQ(clock_offset(other, first), -100);
}

TEST(MergeTraces, PutsAllRanksOnOneClock) {
  constexpr int kRanks = 3;
  std::string merged;
  const auto errors = run_ranks(kRanks, [&](std::unique_ptr<Transport> transport) {
    Team team(std::move(transport), Mesh({{"dp", kRanks}}), true);
    SpanRecorder recorder(team.communicator());
    float value = 1;
    Operation sum{Collective::all_reduce};
    sum.data = reinterpret_cast<std::byte*>(&value);
    sum.count = 1;
    team.communicator()->wait(team.communicator()->start("dp", sum));
    team.communicator()->run("dp", sum);
    recorder.record(Activity::forward, 5, 10);
    const std::string trace = merge_traces(team, recorder.timeline());
    EXPECT_EQ(trace.empty(), !team.is_first());
    if (team.is_first()) merged = trace;
  });
  for (const std::string& error : errors) EXPECT_EQ(error, "");

  std::map<std::pair<int, std::string>, int> spans;  // By rank and category.
  std::vector<double> starts;                        // Of the same instant on every rank.
  const json trace = json::parse(merged);
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") != "X") continue;
    ++spans[{event.at("pid"), event.at("cat")}];
    if (event.at("name") == "forward") starts.push_back(event.at("ts"));
    if (event.at("cat") == "communication") {
      EXPECT_EQ(event.at("name"), "all_reduce");
      EXPECT_EQ(event.at("args").at("bytes"), 4);
    }
  }
  for (int rank = 0; rank < kRanks; ++rank) {
    EXPECT_EQ((spans[{rank, "communication"}]), 2);
    EXPECT_EQ((spans[{rank, "wait"}]), 2);
    EXPECT_EQ((spans[{rank, "compute"}]), 1);
  }
  EXPECT_EQ(starts, std::vector<double>(kRanks, starts.at(0)));
}

}  // namespace
}  // namespace hocket
