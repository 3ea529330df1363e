#include "plan/pipeline_prediction.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

constexpr double kMB = 1e6;

// Equal layers: 1 ms a sample forward, 2 ms backward, and `call` for each of both.
ModelProfile equal_profile(int layers, Seconds call = Seconds(0)) {
  ModelProfile profile;
  profile.copies_of_parameters = 3;
  for (int i = 0; i < layers; ++i) {
    profile.layers.push_back(
        {"layer", {call, Seconds(1e-3)}, {call, Seconds(2e-3)}, Seconds(0), kMB, 1000, 1000});
  }
  return profile;
}

ClusterModel ranks_on(int ranks, const Link& link) {
  return {uniform_topology(ranks, {link}), std::vector<RankLimits>(static_cast<std::size_t>(ranks))};
}
ClusterModel quick_cluster(int ranks) { return ranks_on(ranks, {Seconds(0), 1e-15}); }

std::vector<int> counts_of(const PipelinePrediction& plan) {
  std::vector<int> counts;
  for (const PredictedPart& part : plan.parts) counts.push_back(part.end_layer - part.first_layer);
  return counts;
}

TEST(PipelinePrediction, AStepOfEqualStagesIsTheFormula) {
  const PipelineRequest request{.stages = 4, .batch = 32, .micro_batches = 8};
  const PipelinePrediction plan = predict_pipeline(equal_profile(8), quick_cluster(4), request).value();
  EXPECT_EQ(counts_of(plan), (std::vector{2, 2, 2, 2}));
  EXPECT_NEAR(plan.bubble(), 3.0 / 11, 1e-9);
  EXPECT_NEAR(plan.step().count(), (8 + 3) * 2 * 4 * 3e-3, 1e-9);
}

TEST(PipelinePrediction, DataParallelismIsAPipelineOfOneStage) {
  const ClusterModel cluster = ranks_on(4, {Seconds(0), 1e-9});
  const PipelinePrediction plan =
      predict_pipeline(equal_profile(8), cluster, {.replicas = 4, .batch = 32}).value();
  // 8 samples a rank and layer, and a ring of 2 (4-1)/4 * 8 MB at 1 GB/s, if no algorithm is better.
  EXPECT_NEAR(plan.step().count(), 8 * 8 * 3e-3 + plan.parts[0].sum.count(), 1e-9);
  EXPECT_NEAR(plan.parts[0].sum.count(), 12e-3, 2e-3);
}

TEST(PipelinePrediction, TooFewMicroBatchesLeaveABubbleAndTooManyWasteCalls) {
  const ModelProfile profile = equal_profile(8, Seconds(1e-3));
  const auto plans = predict_micro_batches(profile, quick_cluster(4), {.stages = 4, .batch = 64});
  ASSERT_EQ(plans.size(), 7U);
  std::vector<double> steps;
  for (std::size_t i = 0; i < plans.size(); ++i) {
    EXPECT_EQ(plans[i].request.micro_batches, 1 << i);
    steps.push_back(plans[i].step().count());
  }
  const int best = best_prediction(plans)->request.micro_batches;
  EXPECT_GT(best, 2);
  EXPECT_LT(best, 64);
  EXPECT_GT(steps.front(), 1.5 * best_prediction(plans)->step().count());
  EXPECT_GT(steps.back(), 1.1 * best_prediction(plans)->step().count());
  EXPECT_GT(plans.front().bubble(), plans.back().bubble());
}

TEST(PipelinePrediction, InterleavedPlansHaveTheirChunksByTurns) {
  PipelineRequest request{.stages = 2, .batch = 8, .micro_batches = 4, .chunks = 2};
  request.schedule = PipelineSchedule::interleaved;
  const PipelinePrediction plan = predict_pipeline(equal_profile(8), quick_cluster(2), request).value();
  EXPECT_EQ(counts_of(plan), (std::vector{2, 2, 2, 2}));
  EXPECT_NEAR(plan.bubble(), 1.0 / 9, 1e-9);
  for (const PipelinePrediction& other : predict_micro_batches(equal_profile(8), quick_cluster(2), request)) {
    EXPECT_EQ(other.request.micro_batches % 2, 0);
  }
}

TEST(PipelinePrediction, AFullPipedreamTakesWhatItsSlowestStageDoes) {
  PipelineRequest request{.stages = 4, .batch = 4};
  request.schedule = PipelineSchedule::pipedream;
  const PipelinePrediction plan = predict_pipeline(equal_profile(8), quick_cluster(4), request).value();
  EXPECT_NEAR(plan.step().count(), 2 * 4 * 3e-3, 1e-9);
  EXPECT_NEAR(plan.bubble(), 0, 1e-9);
  // Stage 0 keeps 4 versions of 2 MB with one gradient and one state, and 4 micro-batches of 4 samples.
  EXPECT_DOUBLE_EQ(plan.memory_bytes[0], (4 + 2) * 2 * kMB + 4 * 4 * 2 * 1000);
  EXPECT_DOUBLE_EQ(plan.memory_bytes[3], (1 + 2) * 2 * kMB + 4 * 3 * 1000);  // With what it receives.
}

TEST(PipelinePrediction, MemoryLimitsMoveLayersOrForbidAPlan) {
  ClusterModel cluster = quick_cluster(2);
  const PipelineRequest request{.stages = 2, .batch = 8, .micro_batches = 4};
  EXPECT_EQ(counts_of(*predict_pipeline(equal_profile(8), cluster, request)), (std::vector{4, 4}));
  cluster.ranks[1].memory_bytes = 7 * kMB;  // Two layers of 3 MB.
  EXPECT_EQ(counts_of(*predict_pipeline(equal_profile(8), cluster, request)), (std::vector{6, 2}));
  cluster.ranks[0].memory_bytes = 7 * kMB;
  EXPECT_FALSE(predict_pipeline(equal_profile(8), cluster, request).has_value());
}

TEST(PipelinePrediction, GpipeNeedsTheMemoryOfAllMicroBatches) {
  PipelineRequest request{.stages = 2, .batch = 64, .micro_batches = 8};
  const auto memory = [&](PipelineSchedule schedule) {
    request.schedule = schedule;
    const PipelinePrediction plan = predict_pipeline(equal_profile(4), quick_cluster(2), request).value();
    return plan.memory_bytes[0] - 3 * 2 * kMB;
  };
  EXPECT_DOUBLE_EQ(memory(PipelineSchedule::gpipe), 64 * 2 * 1000);
  EXPECT_DOUBLE_EQ(memory(PipelineSchedule::one_f_one_b), 16 * 2 * 1000);
  EXPECT_DOUBLE_EQ(memory(PipelineSchedule::naive), 8 * 2 * 1000);
}

TEST(ModelProfile, CallsAndSamplesAreToldApart) {
  const std::vector<SampleTiming> timings{{1, Seconds(12e-6)}, {16, Seconds(42e-6)}, {64, Seconds(138e-6)}};
  const SampleCost cost = fit_sample_cost(timings);
  EXPECT_NEAR(cost.call.count(), 10e-6, 1e-9);
  EXPECT_NEAR(cost.sample.count(), 2e-6, 1e-9);
  EXPECT_NEAR(cost.of(128).count(), 266e-6, 1e-8);
}

}  // namespace
}  // namespace hocket
