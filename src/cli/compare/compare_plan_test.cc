#include "cli/compare/compare_plan.h"

#include <gmock/gmock.h>

#include <fstream>

#include "base/error.h"
#include "cli/compare/compare_progress.h"

namespace hocket {
namespace {

using testing::Contains;
using testing::ElementsAre;

Arguments two_ways() {
  Arguments arguments;
  arguments.add("workers", {"1,2"});
  arguments.add("lr", {"0.05"});
  arguments.add("seed", {"7"});
  arguments.add("seeds", {"2"});
  arguments.add("target-error", {"0.1"});
  arguments.add("check-repeat", {});
  return arguments;
}

TEST(ComparePlan, ReadsBackAsItWasWritten) {
  const ComparePlan plan = plan_of(two_ways());
  const ComparePlan again = parse_plan(to_json(plan), "plan.json");
  EXPECT_EQ(to_json(again), to_json(plan));
  EXPECT_EQ(again.ways, plan.ways);
  EXPECT_EQ(again.seeds, 2);
  EXPECT_EQ(again.target_error, 0.1);
  EXPECT_TRUE(again.checks_repeat);
  EXPECT_EQ(again.base.train_options().seed, 7U);
}

TEST(ComparePlan, WhatIsNoPlanIsRefused) {
  const std::string good = to_json(plan_of(two_ways()));
  for (const std::string& text :
       {std::string(), std::string("{}"), std::string("[1]"), good.substr(0, good.size() / 2)}) {
    EXPECT_THROW(parse_plan(text, "plan.json"), DataError) << text;
  }
  std::string alone = good;  // Without the way of one worker.
  alone.replace(alone.find("\"train.workers\": \"1\""), 20, "\"train.workers\": \"3\"");
  EXPECT_THROW(parse_plan(alone, "plan.json"), DataError);
}

TEST(ComparePlan, OnlyWhatIsNotADefaultIsHandedOn) {
  const ComparePlan plan = plan_of(two_ways());
  EXPECT_THAT(assignments_of(plan.base), ElementsAre("train.lr=0.05", "train.seed=7"));
  EXPECT_THAT(assignments_of(settings_of(plan.ways[1], plan.base, "compare")), Contains("train.workers=2"));
}

TEST(ComparePlan, EverySeedOfEveryWayHasAFolder) {
  const ComparePlan plan = plan_of(two_ways());
  const std::vector<PlannedWay> ways{{plan.base, 10, 128}, {plan.base, 10, 128}};
  const Comparison comparison = planned_comparison(plan, ways);
  ASSERT_EQ(comparison.ways.size(), 2U);
  std::vector<std::string> folders;
  for (const TrainTrial& trial : comparison.ways[1].trials) folders.push_back(trial.folder);
  EXPECT_THAT(folders, ElementsAre("2-workers/seed-7", "2-workers/seed-8", "2-workers/seed-7-again"));
  EXPECT_EQ(comparison.ways[1].baseline, 0U);
  EXPECT_FALSE(comparison.is_complete());
}

TEST(TrialTimes, AWayIsExpectedToTakeWhatItTookOrElseWhatOthersTook) {
  TrialTimes times(2);
  EXPECT_FALSE(times.expected(0));
  EXPECT_FALSE(times.left({1, 1}, 0, 0, 3));
  EXPECT_DOUBLE_EQ(*times.left({1, 2}, 0, 0.5, 3), 3 + 3 * 6);
  times.add(0, 10);
  EXPECT_DOUBLE_EQ(*times.expected(1), 10);
  times.add(1, 4);
  EXPECT_DOUBLE_EQ(*times.left({1, 1}, 1, 0, 1), 3 + 10 + 4);
}

TEST(ReadLive, TakesTheLastWholeLines) {
  const std::filesystem::path folder = testing::TempDir() + "read_live";
  std::filesystem::create_directories(folder);
  EXPECT_EQ(read_live(folder / "missing").step, 0);
  std::ofstream(folder / "metrics.jsonl") << R"({"kind":"eval","step":5,"epoch":0.5,"accuracy":0.75})" << '\n'
                                          << R"({"kind":"train","step":9,"epoch":0.9,"accuracy":0.1})" << '\n'
                                          << R"({"kind":"train","ste)";
  const LiveTrial live = read_live(folder);
  EXPECT_EQ(live.step, 9);
  EXPECT_DOUBLE_EQ(live.epoch, 0.9);
  EXPECT_EQ(live.accuracy, 0.75);
}

}  // namespace
}  // namespace hocket
