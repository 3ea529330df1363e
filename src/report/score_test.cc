#include "report/score.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "report/comparison_json.h"
#include "report/comparison_page.h"
#include "report/test_evil.h"

namespace hocket {
namespace {

// A run whose error falls from 0.5 at its first test to `last` at its third, a second after the other.
TrainTrial falling_run(std::uint64_t seed, double last, double seconds_per_test = 1) {
  TrainTrial trial{.seed = seed, .folder = "way/seed", .status = TrialStatus::done};
  trial.train_seconds = 3 * seconds_per_test;
  trial.compute_seconds = 2 * seconds_per_test;
  trial.comm_seconds = 2 * seconds_per_test;
  trial.exposed_comm_seconds = seconds_per_test;
  trial.samples_per_second = 300 / seconds_per_test;
  trial.bytes_sent = 3e9;
  trial.parameter_hash = "same";
  for (int i = 1; i <= 3; ++i) {
    trial.tests.push_back({10.0 * i, 0.5 * i, seconds_per_test * i, 1e9 * i, i == 3 ? last : 0.5 / i});
  }
  return trial;
}

TrainTrial run_that(TrialStatus status) {
  return {.seed = 9, .folder = "", .status = status, .reason = "because"};
}

ComparedWay way_of(int workers, std::vector<TrainTrial> trials) {
  ComparedWay way;
  way.label = std::to_string(workers) + " workers";
  way.group = "all-reduce";
  way.workers = workers;
  way.batch = 64;
  way.trials = std::move(trials);
  return way;
}

Comparison two_ways() {
  Comparison comparison;
  comparison.model = "lenet";
  comparison.target_error = 0.1;
  comparison.ways = {way_of(1, {falling_run(1, 0.1), falling_run(2, 0.1)}),
                     way_of(2, {falling_run(1, 0.08, 0.5), falling_run(2, 0.06, 0.5)})};
  return comparison;
}

TEST(Score, NeedsWhatTheFirstTestAtTheTargetSays) {
  const Scores scores = score(two_ways());
  EXPECT_EQ(scores.ways[0].seconds->median, 3);
  EXPECT_EQ(scores.ways[0].epochs->median, 1.5);
  EXPECT_EQ(scores.ways[0].bytes->median, 3e9);
  EXPECT_EQ(scores.ways[1].seconds->median, 1.5);
  EXPECT_EQ(scores.ways[1].worker_seconds->median, 3);
  EXPECT_EQ(scores.ways[1].reached, 2);
  EXPECT_EQ(scores.ways[1].speedup, 2);
  EXPECT_EQ(scores.ways[1].throughput_speedup, 2);
  EXPECT_NEAR(*scores.ways[1].gap, -0.03, 1e-12);
}

TEST(Score, ADivergedRunNeverReachesTheTargetAndIsCounted) {
  Comparison comparison = two_ways();
  comparison.ways[1].trials = {run_that(TrialStatus::diverged), falling_run(1, 0.08)};
  const WayScore some = score(comparison).ways[1];
  EXPECT_EQ(some.diverged, 1);
  EXPECT_EQ(some.reached, 1);
  EXPECT_EQ(some.seconds->median, Needed());
  EXPECT_EQ(some.speedup, Needed());
  EXPECT_FALSE(some.defaults_sufficed);
  EXPECT_DOUBLE_EQ(some.final_error->mean, 0.08);
}

TEST(Score, WithoutATargetItIsTheErrorThatEveryRunReached) {
  Comparison comparison = two_ways();
  comparison.target_error.reset();
  comparison.ways[1].trials[0] = falling_run(1, 0.2);
  EXPECT_EQ(score(comparison).target_error, 0.2);
  comparison.ways = {way_of(1, {run_that(TrialStatus::failed)})};
  EXPECT_FALSE(score(comparison).target_error);
}

TEST(Score, CostsWorkerHoursAndGigabytes) {
  Comparison comparison = two_ways();
  comparison.prices = {.worker_hour = 3600, .gigabyte = 1};
  const Scores scores = score(comparison);
  EXPECT_DOUBLE_EQ(*scores.ways[0].cost, 3 + 3);
  EXPECT_DOUBLE_EQ(*scores.ways[1].cost, 2 * 1.5 + 3);
  ASSERT_TRUE(scores.ways[1].marginal);
  EXPECT_FALSE(scores.ways[0].marginal);
  EXPECT_EQ(scores.ways[1].marginal->added_workers, 1);
  EXPECT_DOUBLE_EQ(*scores.ways[1].marginal->seconds_saved, 1.5);
  EXPECT_DOUBLE_EQ(*scores.ways[1].marginal->cost_added, 0);
}

TEST(Score, AnAddedWorkerIsJudgedAgainstTheNextSmallerWay) {
  Comparison comparison = two_ways();
  comparison.ways.push_back(way_of(4, {falling_run(1, 0.08, 0.4)}));
  const WayScore four = score(comparison).ways[2];
  EXPECT_EQ(four.marginal->than, 1U);
  EXPECT_EQ(four.marginal->added_workers, 2);
  EXPECT_NEAR(*four.marginal->seconds_saved, 0.15, 1e-12);
}

TEST(Score, ARepeatOnlyComparesBits) {
  Comparison comparison = two_ways();
  TrainTrial repeat = falling_run(1, 0.9);
  repeat.is_repeat = true;
  comparison.ways[0].trials.push_back(repeat);
  EXPECT_EQ(score(comparison).ways[0].runs, 2);
  EXPECT_DOUBLE_EQ(*score(comparison).ways[0].worst_error, 0.1);
  EXPECT_EQ(score(comparison).ways[0].repeats_bitwise, true);
  comparison.ways[0].trials.back().parameter_hash = "other";
  EXPECT_EQ(score(comparison).ways[0].repeats_bitwise, false);
  EXPECT_EQ(score(comparison).ways[1].repeats_bitwise, std::nullopt);
}

TEST(Score, TheCurveIsTheMedianBetweenTheBestAndTheWorstSeed) {
  const WayScore two = score(two_ways()).ways[1];
  ASSERT_EQ(two.curve.size(), 3U);
  EXPECT_DOUBLE_EQ(two.curve[2].median.error, 0.07);
  EXPECT_DOUBLE_EQ(two.curve[2].low, 0.06);
  EXPECT_DOUBLE_EQ(two.curve[2].high, 0.08);
  EXPECT_NEAR(two.shares.compute + two.shares.communication, 1, 1e-12);
}

TEST(ComparisonJson, HasARowForEachWay) {
  const Comparison comparison = two_ways();
  const auto json = nlohmann::json::parse(to_json(comparison, score(comparison)));
  ASSERT_EQ(json["ways"].size(), 2U);
  EXPECT_EQ(json["ways"][1]["efficiency"]["seconds"]["median"], 1.5);
  EXPECT_EQ(json["ways"][1]["cost"]["per_added_worker"]["than"], "1 workers");
  EXPECT_EQ(json["ways"][1]["runs"].size(), 2U);
  EXPECT_TRUE(json["complete"]);
}

TEST(ComparisonPage, TextIsNeverMarkup) {
  Comparison comparison = two_ways();
  comparison.model = comparison.data = comparison.version = kEvil;
  for (ComparedWay& way : comparison.ways) {
    way.label = way.group = way.assumption = kEvil;
    way.knobs = {kEvil};
    way.trials.push_back({.seed = 3, .folder = kEvil, .status = TrialStatus::failed, .reason = kEvil});
  }
  const std::string html = render_comparison_page(comparison, score(comparison));
  EXPECT_EQ(html.find(kEvil), std::string::npos);
  EXPECT_EQ(html.find("alert(1)</script>"), std::string::npos);
  EXPECT_NE(html.find("&lt;script&gt;alert(1)"), std::string::npos);
}

TEST(ComparisonPage, NamesMoreWorkersThanCores) {
  Comparison comparison = two_ways();
  comparison.cores = 2;
  EXPECT_EQ(render_comparison_page(comparison, score(comparison)).find("take turns"), std::string::npos);
  comparison.cores = 1;
  EXPECT_NE(render_comparison_page(comparison, score(comparison)).find("take turns"), std::string::npos);
}

}  // namespace
}  // namespace hocket
