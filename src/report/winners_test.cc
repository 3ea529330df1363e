#include "report/winners.h"

#include <gtest/gtest.h>

#include "report/scaling.h"
#include "report/trace_window.h"

namespace hocket {
namespace {

// One test that reaches the target of 0.1.
TrainTrial ended_run(double error, double seconds, double bytes) {
  TrainTrial trial{.seed = 1, .folder = "", .status = TrialStatus::done};
  trial.train_seconds = seconds;
  trial.compute_seconds = 0.75 * seconds;
  trial.comm_seconds = trial.exposed_comm_seconds = 0.25 * seconds;
  trial.samples_per_second = 1000 / seconds;
  trial.tests = {{1, 1, seconds, bytes, error}};
  return trial;
}

ComparedWay labelled_way(const char* label, const char* group, int workers, std::vector<TrainTrial> trials) {
  ComparedWay way;
  way.label = label;
  way.group = group;
  way.workers = workers;
  way.trials = std::move(trials);
  return way;
}

Comparison three_ways() {
  Comparison comparison;
  comparison.cores = 2;
  comparison.target_error = 0.1;
  comparison.ways = {
      labelled_way("1 worker", "all-reduce", 1, {ended_run(0.01, 10, 0), ended_run(0.01, 10, 0)}),
      labelled_way("2 workers", "all-reduce", 2, {ended_run(0.05, 6, 2e6), ended_run(0.05, 6, 2e6)}),
      labelled_way("2 workers ps:asp", "ps:asp", 2, {ended_run(0.09, 5, 3e6), ended_run(0.07, 5, 3e6)})};
  comparison.ways[2].knobs = {"scale"};
  return comparison;
}

std::string winner_of(const std::vector<Winner>& all, const Comparison& comparison, const std::string& by) {
  for (const Winner& winner : all) {
    if (winner.criterion == by) return comparison.ways[winner.way].label;
  }
  return "nobody";
}

TEST(Winners, AreOfSeveralWorkersWhereThereAreTwoSuchWays) {
  const Comparison comparison = three_ways();
  const std::vector<Winner> all = winners(comparison, score(comparison));
  EXPECT_EQ(winner_of(all, comparison, "time to target"), "2 workers ps:asp");
  EXPECT_EQ(winner_of(all, comparison, "bytes to target"), "2 workers");
  EXPECT_EQ(winner_of(all, comparison, "complexity"), "2 workers");
  EXPECT_EQ(winner_of(all, comparison, "stability"), "2 workers");
  EXPECT_EQ(winner_of(all, comparison, "test error"), "2 workers");
}

TEST(Winners, NobodyWinsByATargetThatNobodyReached) {
  Comparison comparison = three_ways();
  comparison.target_error = 0.001;
  const std::vector<Winner> all = winners(comparison, score(comparison));
  EXPECT_EQ(winner_of(all, comparison, "time to target"), "nobody");
  EXPECT_EQ(winner_of(all, comparison, "cost to target"), "nobody");
  EXPECT_EQ(winner_of(all, comparison, "test error"), "2 workers");
}

TEST(Winners, ARunThatFailedIsNotStable) {
  Comparison comparison = three_ways();
  comparison.ways[1].trials.push_back({.seed = 2, .folder = "", .status = TrialStatus::diverged});
  EXPECT_EQ(winner_of(winners(comparison, score(comparison)), comparison, "stability"), "2 workers ps:asp");
}

TEST(ModelledScaling, AMastersShareOfCommunicationGrowsAndARingsDoesNot) {
  const Comparison comparison = three_ways();
  const auto scaling = model_scaling(comparison, score(comparison));
  ASSERT_TRUE(scaling);
  EXPECT_EQ(scaling->from, 1U);
  const ScalingPoint& first = scaling->ring.front();
  EXPECT_EQ(first.workers, 2);
  EXPECT_NEAR(first.speed_up, 10.0 / 6, 1e-9);  // As measured.
  EXPECT_NEAR(first.communication, 0.25, 1e-9);
  EXPECT_EQ(scaling->ring.back().workers, 64);
  EXPECT_LT(scaling->ring.back().communication, 0.45);  // 2(P-1)/P at most doubles.
  EXPECT_GT(scaling->master.back().communication, 0.95);
  EXPECT_GT(scaling->ring.back().speed_up, 5 * scaling->master.back().speed_up);
  Comparison small = comparison;
  small.cores = 1;  // Two workers took turns: nothing to go by.
  EXPECT_FALSE(model_scaling(small, score(small)));
}

TEST(TraceWindow, BeginsInTheMiddleAndAtZero) {
  TraceData trace;
  trace.lanes = {{"rank 0", "a"}, {"rank 1", "b"}, {"rank 2", "idle"}};
  trace.names = {{"forward", "compute"}};
  for (int i = 0; i < 20; ++i) {
    trace.spans.push_back({0, 0, 1e6 * i, 0.5e6});
    trace.spans.push_back({1, 0, 1e6 * i, 0.9e6});
  }
  const TraceData window = trace_window(trace, 2.6, 100);
  ASSERT_EQ(window.lanes.size(), 2U);
  ASSERT_EQ(window.spans.size(), 6U);
  EXPECT_EQ(window.spans.front().start, 0);
  EXPECT_NEAR(window.spans.back().start + window.spans.back().duration, 2.6e6, 1);
  EXPECT_EQ(trace_window(trace, 2.6, 3).spans.size(), 3U);
  EXPECT_TRUE(trace_window(TraceData(), 1, 10).spans.empty());
}

}  // namespace
}  // namespace hocket
