#include "train/trace.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <thread>

namespace hocket {
namespace {

using nlohmann::json;
using std::chrono::microseconds;

std::vector<json> spans_of(const json& trace) {
  std::vector<json> spans;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "X") spans.push_back(event);
  }
  return spans;
}

json trace_of(const Timeline& timeline, int rank) {
  return json::parse(chrome_trace(timeline.events(rank, timeline.origin(), 1 << 16)));
}

TEST(Timeline, IsAChromeTraceWithNames) {
  const Timeline::Time origin{};
  Timeline timeline(8, origin);
  const auto forward = timeline.add_name("for\"ward", SpanKind::compute);
  const auto compute = timeline.add_thread("compute");
  const auto loader = timeline.add_thread("loader");
  timeline.record(forward, loader, origin + microseconds(5), origin + microseconds(12));

  const json trace = trace_of(timeline, 3);
  const json expected = {{"ph", "X"},     {"name", "for\"ward"}, {"cat", "compute"}, {"pid", 3},
                         {"tid", loader}, {"ts", 5.0},           {"dur", 7.0}};
  EXPECT_EQ(spans_of(trace), std::vector<json>{expected});
  std::map<std::string, std::string> names;
  for (const json& event : trace.at("traceEvents")) {
    if (event.at("ph") == "M")
      names[event.at("name").get<std::string>() + event.at("tid").dump()] = event["args"]["name"];
  }
  EXPECT_EQ(names,
            (std::map<std::string, std::string>{
                {"process_name0", "rank 3"}, {"thread_name0", "compute"}, {"thread_name1", "loader"}}));
  EXPECT_EQ(compute, 0);
}

TEST(Timeline, KeepsTheNewestInOrderAndCountsTheRest) {
  const Timeline::Time origin{};
  Timeline timeline(4, origin);
  const auto name = timeline.add_name("step", SpanKind::compute);
  const auto thread = timeline.add_thread("main");
  for (int i = 0; i < 10; ++i)
    timeline.record(name, thread, origin + microseconds(i), origin + microseconds(i + 1));
  const json trace = trace_of(timeline, 0);
  std::vector<double> starts;
  for (const json& span : spans_of(trace)) starts.push_back(span.at("ts"));
  EXPECT_EQ(starts, (std::vector<double>{6, 7, 8, 9}));
  EXPECT_EQ(trace["otherData"]["spans_dropped"], 6);
}

TEST(Timeline, ThreadsRecordAtOnce) {
  Timeline timeline(4000);
  const auto name = timeline.add_name("work", SpanKind::wait);
  const std::uint16_t first = timeline.add_thread("a");
  const std::uint16_t second = timeline.add_thread("b");
  {
    const auto body = [&](std::uint16_t thread) {
      for (int i = 0; i < 2000; ++i) ScopedSpan span(&timeline, name, thread);
    };
    const std::jthread a(body, first);
    const std::jthread b(body, second);
  }
  EXPECT_EQ(spans_of(trace_of(timeline, 0)).size(), 4000U);
}

TEST(Timeline, TimesCountFromWhereTheyAreAskedTo) {
  const Timeline::Time origin{};
  Timeline timeline(4, origin);
  const auto name = timeline.add_name("all_reduce", SpanKind::communication);
  const auto thread = timeline.add_thread("communication");
  for (int i = 0; i < 3; ++i)
    timeline.record(name, thread, origin + microseconds(10 + i), origin + microseconds(11 + i), 64);
  const TraceEvents events = timeline.events(0, origin + microseconds(2), 1);
  EXPECT_EQ(events.dropped, 2U);
  const std::vector<json> spans = spans_of(json::parse(chrome_trace(events)));
  ASSERT_EQ(spans.size(), 1U);
  EXPECT_EQ(spans[0].at("ts"), 10.0);
  EXPECT_EQ(spans[0].at("args").at("bytes"), 64);
}

TEST(Timeline, ASpanOfNoTimelineIsNothing) { const ScopedSpan span(nullptr, 0, 0); }

}  // namespace
}  // namespace hocket
