#include "plan/pipeline_replay.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

// Times that binary fractions hold exactly.
std::vector<PartCost> equal_costs(const PipelineShape& shape) {
  PartCost cost;
  cost.forward = Seconds(0.25);
  cost.backward = Seconds(0.5);
  cost.activation_bytes = 100;
  return std::vector<PartCost>(static_cast<std::size_t>(shape.parts()), cost);
}

PipelineReplay replay(PipelineSchedule schedule, const PipelineShape& shape) {
  return replay_pipeline(schedule, shape, equal_costs(shape));
}

TEST(PipelineReplay, BubblesOfEqualStagesAreThoseOfTheFormulas) {
  for (const int stages : {1, 2, 3, 4, 8, 16}) {
    for (const int micro_batches : {1, 2, 4, 5, 16, 48}) {
      for (const PipelineSchedule schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
        const PipelineShape shape{stages, micro_batches};
        EXPECT_DOUBLE_EQ(replay(schedule, shape).bubble(), (stages - 1.0) / (micro_batches + stages - 1));
        EXPECT_DOUBLE_EQ(replay(schedule, shape).bubble(), ideal_bubble(schedule, shape));
      }
      const PipelineShape naive{stages, micro_batches};
      EXPECT_DOUBLE_EQ(replay(PipelineSchedule::naive, naive).bubble(), (stages - 1.0) / stages);
      EXPECT_DOUBLE_EQ(ideal_bubble(PipelineSchedule::naive, naive), (stages - 1.0) / stages);
    }
  }
}

TEST(PipelineReplay, InterleavedBubblesShrinkWithTheChunks) {
  for (const int stages : {2, 3, 4, 8}) {
    for (const int rounds : {1, 2, 5}) {
      for (const int chunks : {2, 3, 4}) {
        const PipelineShape shape{stages, rounds * stages, chunks};
        const double formula = (stages - 1.0) / (chunks * shape.micro_batches + stages - 1);
        EXPECT_DOUBLE_EQ(replay(PipelineSchedule::interleaved, shape).bubble(), formula);
        EXPECT_DOUBLE_EQ(ideal_bubble(PipelineSchedule::interleaved, shape), formula);
      }
    }
  }
}

TEST(PipelineReplay, AFullPipedreamHasNoBubble) {
  for (const int stages : {1, 2, 4, 8, 16}) {
    const PipelineReplay stream = replay(PipelineSchedule::pipedream, {stages, 64});
    EXPECT_EQ(stream.steady_bubble(), 0);
    EXPECT_DOUBLE_EQ(stream.steady_interval().count(), 0.75);
    EXPECT_DOUBLE_EQ(stream.bubble(), (stages - 1.0) / (64 + stages - 1));  // Filling and draining.
  }
  EXPECT_GT(replay(PipelineSchedule::gpipe, {4, 64}).bubble(), 0);
}

TEST(PipelineReplay, MakespansAreTheOnesDrawnByHand) {
  // Stage 1 takes twice as long: F 1, 2 and B 1, 2; messages take 0.5.
  std::vector<PartCost> costs(2);
  costs[0].forward = costs[0].backward = Seconds(1);
  costs[1].forward = costs[1].backward = Seconds(2);
  costs[0].send_down = costs[1].send_up = Seconds(0.5);
  costs[0].update = Seconds(0.25);
  const PipelineReplay result = replay_pipeline(PipelineSchedule::one_f_one_b, {2, 2}, costs);
  // Stage 0: F0 0-1, F1 1-2, B0 6-7, B1 10-11, U 11-11.25. Stage 1: F0 1.5-3.5, B0 -5.5, F1 -7.5, B1 -9.5.
  EXPECT_DOUBLE_EQ(result.time.count(), 11.25);
  EXPECT_DOUBLE_EQ(result.busy[0].count(), 4.25);
  EXPECT_DOUBLE_EQ(result.busy[1].count(), 8);
  EXPECT_DOUBLE_EQ(result.bubble(), 1 - (4.25 + 8) / 2 / 11.25);
  EXPECT_DOUBLE_EQ(result.spans[2].begin.count(), 6);
  EXPECT_EQ(result.spans[2].action, (PipelineAction{ActionKind::backward, 0, 0, 0}));
}

TEST(PipelineReplay, MessagesOfALinkFollowOneAnother) {
  std::vector<PartCost> costs(2);
  costs[0].send_down = Seconds(1);
  EXPECT_DOUBLE_EQ(replay_pipeline(PipelineSchedule::gpipe, {2, 5}, costs).time.count(), 5);
}

TEST(PipelineReplay, PeakActivationsAreThoseInFlight) {
  const auto peaks = [](PipelineSchedule schedule, const PipelineShape& shape) {
    return replay(schedule, shape).peak_activation_bytes;
  };
  using Peaks = std::vector<std::int64_t>;
  EXPECT_EQ(peaks(PipelineSchedule::naive, {3, 6}), (Peaks{100, 100, 100}));
  EXPECT_EQ(peaks(PipelineSchedule::gpipe, {3, 6}), (Peaks{600, 600, 600}));
  EXPECT_EQ(peaks(PipelineSchedule::one_f_one_b, {3, 6}), (Peaks{300, 200, 100}));
  EXPECT_EQ(peaks(PipelineSchedule::interleaved, {3, 6, 2}), (Peaks{800, 600, 400}));
}

TEST(PipelineReplay, ActionsThatWaitForEverAreAnError) {
  std::vector<PipelineActions> actions = all_pipeline_actions(PipelineSchedule::gpipe, {2, 2});
  actions[0].erase(actions[0].begin());
  EXPECT_THROW(replay_pipeline({2, 2}, actions, std::vector<PartCost>(2)), Error);
}

}  // namespace
}  // namespace hocket
