// Workers that go at their own pace and average with one neighbour at a time.
#include "train/pair_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <numeric>

#include "data/test_files.h"
#include "net/run_ranks.h"
#include "train/test_together.h"
#include "train/trainer.h"

namespace hocket {
namespace {

TrainOptions pair_options(const std::string& sync = "gossip-async") {
  TrainOptions options;
  options.model = "mlp,hidden=8,dropout=0.1";
  options.data = "synthetic:1x6x6:3:64";
  options.batch = 12;  // Six batches an epoch; the last one is smaller.
  options.steps = 120;
  options.dtype = "f64";
  options.threads = 1;
  options.optimizer.rule = "sgd";
  options.sync = sync;
  return options;
}

std::int64_t total(const std::vector<std::int64_t>& steps) {
  return std::accumulate(steps.begin(), steps.end(), std::int64_t{0});
}

TEST(PairSync, AllTogetherDoTheStepsOfTheRunAndEndWithOneMean) {
  const std::vector<TrainResult> results = train_together(pair_options());
  for (const TrainResult& result : results) {
    EXPECT_EQ(result.steps, 120);
    EXPECT_EQ(result.parameter_hash, results[0].parameter_hash);
    EXPECT_EQ(result.test->loss, results[0].test->loss);
    EXPECT_EQ(result.peers->steps, results[0].peers->steps);
  }
  EXPECT_GE(total(results[0].peers->steps), kWorkers * 120);
  EXPECT_LE(total(results[0].peers->steps), kWorkers * 120 + kWorkers * 3)
      << "what is too much counts for the next meeting";
  EXPECT_LT(results[0].train_loss, 1.0);
  EXPECT_GT(results[0].peers->rounds, 0);
  EXPECT_EQ(results[0].peers->graph->name, "complete");
}

TEST(PairSync, ASlowWorkerDoesFewerStepsAndSlowsNobody) {
  TrainOptions options = pair_options();
  options.steps = 30;
  options.emulate_compute = 0.001;
  options.slow = "2=10";
  options.eval_every = 30;
  const std::vector<std::int64_t> steps = train_together(options)[0].peers->steps;
  EXPECT_GT(steps[0] + steps[1], 3 * steps[2]) << "in the same time";
  EXPECT_GE(total(steps), kWorkers * 30);
}

TEST(PairSync, AnInterruptedRunEndsSoonAndGoesOn) {
  const TestFolder folder;
  TrainOptions options = pair_options();
  options.out = folder.path().string();
  options.eval_every = 1000;
  options.emulate_compute = 0.001;  // So that all workers are under way.
  const std::vector<TrainResult> first = train_together(options, kWorkers, 10);
  EXPECT_TRUE(first[0].interrupted);
  EXPECT_LT(first[0].steps, 120);
  options.resume = true;
  const std::vector<TrainResult> rest = train_together(options);
  EXPECT_FALSE(rest[0].interrupted);
  EXPECT_EQ(rest[0].steps, 120);
  EXPECT_LT(total(rest[0].peers->steps), kWorkers * 120);
}

TEST(PairSync, EdgesThatGoOneWayAreRefused) {
  const auto body = [&](std::unique_ptr<Transport> transport) {
    TrainObserver nobody;
    const std::atomic<bool> stop{false};
    Team team(std::move(transport), Mesh::parse("", 5));
    train(pair_options("gossip-async,graph=exponential"), nobody, stop, team);
  };
  EXPECT_THAT(run_ranks(5, body)[0], testing::HasSubstr("has edges that go one way"));
}

}  // namespace
}  // namespace hocket
