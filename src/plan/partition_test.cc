#include "plan/partition.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <algorithm>
#include <functional>

namespace hocket {
namespace {

constexpr double kGiB = 1 << 30;

bool fits(const PartitionProblem& problem, const PlannedStage& stage) {
  for (int i = 0; i < stage.replicas; ++i) {
    const RankLimits& limits = problem.ranks[static_cast<std::size_t>(stage.first_rank + i)];
    if (stage_memory(problem, stage) > limits.memory_bytes) return false;
  }
  return true;
}

Seconds bottleneck_of(const PartitionProblem& problem, const std::vector<PlannedStage>& stages) {
  Seconds slowest{0};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    slowest = std::max(slowest, stage_time(problem, stages[i]));
    if (i > 0) slowest = std::max(slowest, transfer_time(problem, stages[i - 1], stages[i]));
  }
  return slowest;
}

Seconds sum_of(const PartitionProblem& problem, const std::vector<PlannedStage>& stages) {
  Seconds sum{0};
  for (std::size_t i = 0; i < stages.size(); ++i) {
    sum += stage_time(problem, stages[i]);
    if (i > 0) sum += transfer_time(problem, stages[i - 1], stages[i]);
  }
  return sum;
}

// Every way to cut layers and ranks.
void for_all_partitions(const PartitionProblem& problem, std::vector<PlannedStage>& stages,
                        const std::function<void()>& body) {
  const int layer = stages.empty() ? 0 : stages.back().end_layer;
  const int rank = stages.empty() ? 0 : stages.back().first_rank + stages.back().replicas;
  const auto layers = static_cast<int>(problem.layers.size());
  const auto ranks = static_cast<int>(problem.ranks.size());
  if (layer == layers && rank == ranks) return body();
  for (int end = layer + 1; end <= layers; ++end) {
    for (int m = 1; m <= std::min(ranks - rank, problem.most_replicas); ++m) {
      stages.push_back({layer, end, rank, m});
      for_all_partitions(problem, stages, body);
      stages.pop_back();
    }
  }
}

struct BruteForce {
  std::optional<Seconds> bottleneck{};
  Seconds sum{0};
};

BruteForce try_all(const PartitionProblem& problem) {
  BruteForce best;
  std::vector<PlannedStage> stages;
  for_all_partitions(problem, stages, [&] {
    if (!std::all_of(stages.begin(), stages.end(), [&](const auto& stage) { return fits(problem, stage); })) {
      return;
    }
    const Seconds bottleneck = bottleneck_of(problem, stages);
    const Seconds sum = sum_of(problem, stages);
    const double ratio = best.bottleneck ? bottleneck / *best.bottleneck : 0;
    if (ratio < 1 - 1e-10) best = {bottleneck, sum};
    if (ratio < 1 + 1e-10) best.sum = std::min(best.sum, sum);
  });
  return best;
}

void expect_brute_force(const PartitionProblem& problem) {
  const BruteForce brute = try_all(problem);
  const std::optional<Partition> found = best_partition(problem);
  RC_ASSERT(found.has_value() == brute.bottleneck.has_value());
  if (!found) return;
  RC_ASSERT(std::abs(found->bottleneck / *brute.bottleneck - 1) < 1e-9);
  RC_ASSERT(bottleneck_of(problem, found->stages) <= *brute.bottleneck * (1 + 1e-8));
  RC_ASSERT(sum_of(problem, found->stages) <= brute.sum * (1 + 1e-8));
  for (const PlannedStage& stage : found->stages) RC_ASSERT(fits(problem, stage));
}

double between(int low, int high) { return *rc::gen::inRange(low, high); }

PartitionProblem random_problem(int most_layers, int most_ranks) {
  const int ranks = *rc::gen::inRange(1, most_ranks + 1);
  UniformOptions network{{Seconds(between(0, 10) * 1e-5), between(1, 100) * 1e-9}};
  network.rack = *rc::gen::inRange(0, 3);
  network.oversubscription = between(1, 8);
  network.rack_alpha = Seconds(between(0, 10) * 1e-4);
  PartitionProblem problem{
      {}, std::vector<RankLimits>(static_cast<std::size_t>(ranks)), uniform_topology(ranks, network)};
  const int layers = *rc::gen::inRange(1, most_layers + 1);
  for (int i = 0; i < layers; ++i) {
    problem.layers.push_back({"", Seconds(between(1, 50) * 1e-4), Seconds(between(1, 100) * 1e-4),
                              between(0, 40) * 1e4, between(1, 40) * 1e4, between(0, 40) * 1e4});
  }
  return problem;
}

// ---- against brute force ----

RC_GTEST_PROP(Partition, EqualsBruteForceUpToTenLayers, ()) { expect_brute_force(random_problem(10, 4)); }

RC_GTEST_PROP(Partition, EqualsBruteForceWithoutReplication, ()) {
  PartitionProblem problem = random_problem(10, 5);
  problem.most_replicas = 1;
  expect_brute_force(problem);
}

RC_GTEST_PROP(Partition, EqualsBruteForceWithUnequalRanks, ()) {
  PartitionProblem problem = random_problem(8, 4);
  problem.micro_batches = *rc::gen::inRange(1, 5);
  problem.stashes_weights = *rc::gen::arbitrary<bool>();
  problem.copies_of_parameters = between(1, 5);
  for (RankLimits& rank : problem.ranks) {
    rank.speed = between(1, 4) / 2;
    if (*rc::gen::arbitrary<bool>()) rank.memory_bytes = between(50, 600) * 1e4;
  }
  expect_brute_force(problem);
}

// ---- what it is for ----

PartitionProblem equal_layers(int layers, int ranks, const Link& link = {Seconds(0), 1e-12}) {
  PartitionProblem problem{
      {}, std::vector<RankLimits>(static_cast<std::size_t>(ranks)), uniform_topology(ranks, {link})};
  LayerCost layer{"", Seconds(1), Seconds(2), 1e6, 1e6, 1e6};
  problem.layers.assign(static_cast<std::size_t>(layers), layer);
  problem.most_replicas = 1;
  return problem;
}

std::vector<int> layers_by_stage(const PartitionProblem& problem) {
  std::vector<int> counts;
  const Partition plan = best_partition(problem).value();
  for (const PlannedStage& stage : plan.stages) {
    counts.push_back(stage.end_layer - stage.first_layer);
  }
  return counts;
}

TEST(Partition, EqualLayersAreDealtEvenly) {
  EXPECT_EQ(layers_by_stage(equal_layers(9, 3)), (std::vector{3, 3, 3}));
  EXPECT_FALSE(best_partition(equal_layers(2, 3)).has_value());
}

TEST(Partition, ARankOfHalfTheSpeedGetsHalfTheLayers) {
  PartitionProblem problem = equal_layers(10, 3);
  problem.ranks[1].speed = 0.5;
  EXPECT_EQ(layers_by_stage(problem), (std::vector{4, 2, 4}));
}

TEST(Partition, ARankOfHalfTheMemoryGetsFewerLayers) {
  PartitionProblem problem = equal_layers(9, 3);
  problem.copies_of_parameters = 4;
  // A layer takes 4 MB of parameters on every rank, and 3, 2, 1 MB of activations on rank 0, 1, 2.
  EXPECT_DOUBLE_EQ(stage_memory(problem, {3, 6, 1, 1}), 18e6);
  EXPECT_DOUBLE_EQ(stage_memory(problem, {0, 3, 0, 2}), 18e6);  // Two of the three in flight on each replica.
  problem.ranks[1].memory_bytes = 9e6;
  const std::vector<int> counts = layers_by_stage(problem);
  EXPECT_EQ(counts[1], 1);
  EXPECT_EQ(counts[0] + counts[2], 8);
  EXPECT_EQ(std::max(counts[0], counts[2]), 4);
  problem.ranks[1].memory_bytes = 5e6;
  EXPECT_FALSE(best_partition(problem).has_value());
}

TEST(Partition, PricesAreThoseOfPipeDream) {
  PartitionProblem problem = equal_layers(4, 4, {Seconds(0), 1e-6});
  problem.layers[1].output_bytes = 3e6;
  // Two layers of 3 s on 2 replicas: (6 + 4 (2 - 1) 2 MB / (2 * 1 MB/s)) / 2.
  EXPECT_DOUBLE_EQ(stage_time(problem, {0, 2, 0, 2}).count(), 5);
  EXPECT_DOUBLE_EQ(stage_time(problem, {0, 2, 0, 1}).count(), 6);
  EXPECT_DOUBLE_EQ(transfer_time(problem, {0, 2, 0, 2}, {2, 4, 2, 2}).count(), 6);
}

// Two kinds of layers, for a batch of 64 on 50 GFLOP/s: 3x3 convolutions, here of 16 channels on 32x32 pixels
// as in ResNet-20, and matrices of 2048x2048.
LayerCost convolution(double channels = 16, double pixels = 32 * 32) {
  const double forward = 2.0 * 64 * pixels * channels * channels * 9 / 50e9;
  const double activations = 4.0 * 64 * pixels * channels;
  return {"conv",      Seconds(forward), Seconds(2 * forward), 4.0 * channels * channels * 9,
          activations, activations};
}
LayerCost fully_connected() {
  const double forward = 2.0 * 64 * 2048 * 2048 / 50e9;
  const double activations = 4.0 * 64 * 2048;
  return {"fc", Seconds(forward), Seconds(2 * forward), 4.0 * 2048 * 2048, activations, activations};
}

PartitionProblem on_slow_network(const LayerCost& layer, int layers, int ranks) {
  UniformOptions slow{{Seconds(100e-6), 8e-9}};  // 1 Gbit/s.
  PartitionProblem problem{
      {}, std::vector<RankLimits>(static_cast<std::size_t>(ranks)), uniform_topology(ranks, slow)};
  problem.layers.assign(static_cast<std::size_t>(layers), layer);
  return problem;
}

TEST(Partition, ConvolutionsOnASlowNetworkAreReplicated) {
  const Partition plan = best_partition(on_slow_network(convolution(), 8, 4)).value();
  EXPECT_EQ(plan.stages, (std::vector<PlannedStage>{{0, 8, 0, 4}}));
}

TEST(Partition, MatricesOnASlowNetworkAreAPipeline) {
  const Partition plan = best_partition(on_slow_network(fully_connected(), 8, 4)).value();
  EXPECT_EQ(plan.stages, (std::vector<PlannedStage>{{0, 2, 0, 1}, {2, 4, 1, 1}, {4, 6, 2, 1}, {6, 8, 3, 1}}));
}

TEST(Partition, ANetOfBothReplicatesItsConvolutionsOnly) {
  PartitionProblem problem = on_slow_network(convolution(64, 28 * 28), 5, 4);
  for (int i = 0; i < 3; ++i) problem.layers.push_back(fully_connected());
  problem.layers[4].output_bytes = 4.0 * 64 * 2048;  // Pooled.
  const Partition plan = best_partition(problem).value();
  ASSERT_EQ(plan.stages.size(), 2U);
  EXPECT_EQ(plan.stages[0].replicas, 3);
  EXPECT_LE(plan.stages[0].end_layer, 5);
  EXPECT_EQ(plan.stages[1].replicas, 1);
}

}  // namespace
}  // namespace hocket
