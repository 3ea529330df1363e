#include "report/bubbles.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

enum Name : std::size_t { kForward, kWait, kEvaluate };

TraceData trace_of(std::vector<TraceSpan> spans) {
  TraceData trace;
  trace.lanes = {{"rank 0", "training"}, {"rank 0", "communication"}, {"rank 3", "training"}};
  trace.names = {{"forward", "compute"}, {"wait for communication", "wait"}, {"evaluate", "eval"}};
  trace.spans = std::move(spans);
  return trace;
}

std::vector<std::pair<double, double>> bubbles_in(const TraceData& trace, std::size_t lane) {
  std::vector<std::pair<double, double>> found;
  for (const TraceSpan& span : trace.spans) {
    if (span.lane == lane && trace.names[span.name].kind == "bubble")
      found.emplace_back(span.start, span.start + span.duration);
  }
  return found;
}

using Bubbles = std::vector<std::pair<double, double>>;

TEST(MarkBubbles, GapsAndWaitsBetweenActionsAreBubblesAndTestsAreNot) {
  TraceData trace = trace_of({{0, kForward, 1000, 1000},
                              {0, kWait, 2000, 500},
                              {0, kForward, 2500, 1000},
                              {0, kWait, 2800, 200},     // Within an action.
                              {0, kForward, 3505, 495},  // After less than a bubble.
                              {0, kEvaluate, 4000, 1000},
                              {0, kForward, 5200, 800},
                              {1, kForward, 0, 10000}});
  mark_bubbles(trace, 2, 4);
  EXPECT_EQ(bubbles_in(trace, 0), (Bubbles{{2000, 2500}, {2800, 3000}, {5000, 5200}}));
  EXPECT_EQ(bubbles_in(trace, 1), Bubbles{});
  EXPECT_EQ(bubbles_in(trace, 2), Bubbles{});
}

TEST(MarkBubbles, WaitsOfTheTrainingThreadBecomeBubblesAndRanksHaveStages) {
  TraceData trace = trace_of({{0, kForward, 0, 100}, {0, kWait, 100, 100}, {1, kWait, 0, 100}});
  mark_bubbles(trace, 2, 4);
  EXPECT_EQ(trace.spans.size(), 2U);
  EXPECT_EQ(trace.lanes[0].process, "rank 0, stage 0");
  EXPECT_EQ(trace.lanes[2].process, "rank 3, stage 1");
}

}  // namespace
}  // namespace hocket
