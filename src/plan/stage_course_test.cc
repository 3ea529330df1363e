#include "plan/stage_course.h"

#include <gtest/gtest.h>

#include "plan/pipeline_checker.h"
#include "plan/pipeline_replay.h"

namespace hocket {
namespace {

// A stream that gets `batches` as it wants them, and drains behind the last.
PipelineActions stream_of(const PipelineShape& shape, int stage, const std::vector<int>& batches) {
  StageCourse course(PipelineSchedule::pipedream, shape, stage);
  PipelineActions actions;
  std::size_t next = 0;
  while (true) {
    if (course.is_hungry() && next < batches.size()) course.enter(batches[next++]);
    const std::optional<PipelineAction> action = course.next();
    if (!action) return actions;
    actions.push_back(*action);
  }
}

std::vector<PartCost> equal_part_costs(int parts) {
  PartCost cost;
  cost.forward = Seconds(0.25);
  cost.backward = Seconds(0.5);
  return std::vector<PartCost>(static_cast<std::size_t>(parts), cost);
}

TEST(StageCourse, AStreamGoesOnFromBatchToBatchAsIfItWereOne) {
  const std::vector<int> batches{4, 4, 1, 3, 4, 2};
  for (const bool vertical : {false, true}) {
    for (const int stages : {1, 2, 3, 5, 8}) {
      const PipelineShape whole{stages, 18, 1, vertical};
      for (int stage = 0; stage < stages; ++stage) {
        EXPECT_EQ(stream_of(whole, stage, batches),
                  pipeline_actions(PipelineSchedule::pipedream, whole, stage));
      }
    }
  }
}

TEST(StageCourse, AStreamOfManyBatchesIdlesNoLongerThanItFillsAndDrains) {
  for (const int stages : {2, 4, 8}) {
    const int batches = 50;
    const PipelineShape whole{stages, 4 * batches};
    std::vector<PipelineActions> actions;
    for (int stage = 0; stage < stages; ++stage)
      actions.push_back(stream_of(whole, stage, std::vector<int>(batches, 4)));
    EXPECT_EQ(find_fault(PipelineSchedule::pipedream, whole, actions, 1), std::nullopt);
    const PipelineReplay stream = replay_pipeline(whole, actions, equal_part_costs(stages));
    EXPECT_EQ(stream.steady_bubble(), 0);
    EXPECT_DOUBLE_EQ(stream.steady_interval().count(), 0.75);
    EXPECT_DOUBLE_EQ(stream.time.count(), 0.75 * (4 * batches + stages - 1));
  }
}

TEST(StageCourse, AStreamThatGetsNothingDrainsAndSaysWhatItWants) {
  StageCourse course(PipelineSchedule::pipedream, {2, 1}, 0);
  EXPECT_TRUE(course.is_hungry());
  EXPECT_EQ(course.next(), std::nullopt);
  course.enter(1);
  EXPECT_FALSE(course.is_hungry());
  EXPECT_EQ(course.next(), (PipelineAction{ActionKind::forward, 0, 0, 0}));
  EXPECT_TRUE(course.is_hungry());  // One forward is ahead, and there is room for another.
  EXPECT_EQ(course.next(), (PipelineAction{ActionKind::backward, 0, 0, 0}));
  EXPECT_FALSE(course.is_hungry());  // Its update comes first.
  EXPECT_EQ(course.next(), (PipelineAction{ActionKind::update, 0, 0, 1}));
  EXPECT_EQ(course.next(), std::nullopt);
}

TEST(StageCourse, WhatAnEndlessStreamKeepsIsKnownAfterTwoRounds) {
  for (const bool vertical : {false, true}) {
    for (const int stages : {1, 2, 4, 8}) {
      for (int stage = 0; stage < stages; ++stage) {
        const auto some =
            pipeline_actions(PipelineSchedule::pipedream, {stages, 2 * stages, 1, vertical}, stage);
        const auto many =
            pipeline_actions(PipelineSchedule::pipedream, {stages, 9 * stages, 1, vertical}, stage);
        EXPECT_EQ(most_in_flight(some), most_in_flight(many));
        EXPECT_EQ(versions_kept(some), versions_kept(many));
      }
    }
  }
}

}  // namespace
}  // namespace hocket
