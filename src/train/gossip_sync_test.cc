// Workers that agree with their neighbours alone.
#include "train/gossip_sync.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <atomic>
#include <cmath>
#include <fstream>

#include "data/test_files.h"
#include "net/run_ranks.h"
#include "train/test_allocations.h"
#include "train/trainer.h"

namespace hocket {
namespace {

constexpr int kGossipWorkers = 4;

TrainOptions gossip_options(const std::string& sync) {
  TrainOptions options;
  options.model = "mlp,hidden=8";
  options.data = "synthetic:1x6x6:3:64";
  options.batch = 16;  // Four batches an epoch.
  options.steps = 12;
  options.dtype = "f64";
  options.threads = 1;
  options.optimizer.rule = "sgd";
  options.sync = sync;
  return options;
}

// Nothing is learned, so that only gossip moves the replicas, which begin apart.
TrainOptions without_learning(const std::string& sync) {
  TrainOptions options = gossip_options(sync + ",spread=1");
  options.learning_rate = 1e-300;
  options.eval_every = 1;
  return options;
}

struct Tests final : TrainObserver {
  void on_start(const std::string& what) override { start = what; }
  void on_eval(const EvalRecord& record) override {
    distances.push_back(record.consensus_distance.value_or(-1));
  }
  std::string start;
  std::vector<double> distances;
};

struct GossipOutcome {
  std::vector<std::string> errors;
  std::vector<TrainResult> results{kGossipWorkers};
  Tests tests;  // Of the first worker.
};

GossipOutcome train_by_gossip(const TrainOptions& options) {
  GossipOutcome outcome;
  const std::atomic<bool> stop{false};
  const auto body = [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    Tests own;
    Tests& tests = rank == 0 ? outcome.tests : own;
    Team team(std::move(transport), Mesh::parse("", kGossipWorkers));
    outcome.results[rank] = train(options, tests, stop, team);
  };
  outcome.errors = run_ranks(kGossipWorkers, body);
  return outcome;
}

GossipOutcome train_well(const TrainOptions& options) {
  GossipOutcome outcome = train_by_gossip(options);
  EXPECT_THAT(outcome.errors, testing::Each(testing::IsEmpty()));
  return outcome;
}

TEST(GossipSync, WithoutLearningACompleteGraphAgreesInOneStep) {
  const std::vector<double> distances = train_well(without_learning("gossip,graph=complete")).tests.distances;
  EXPECT_EQ(distances.size(), 12U);
  EXPECT_LT(distances[0], 1e-13);
}

TEST(GossipSync, WithoutLearningTheDistanceFallsAsTheSecondEigenvalueSays) {
  const GossipOutcome outcome = train_well(without_learning("gossip,graph=ring"));
  const std::vector<double>& distances = outcome.tests.distances;
  EXPECT_GT(distances[0], 0.1);
  EXPECT_NEAR(distances[8] / distances[7], 1.0 / 3, 1e-3);
  EXPECT_NEAR(outcome.results[0].peers->graph->second_eigenvalue, 1.0 / 3, 1e-9);
  EXPECT_EQ(*outcome.results[0].peers->consensus_distance, distances.back());
  EXPECT_THAT(outcome.tests.start,
              testing::HasSubstr("gossip over ring: degree 2, second eigenvalue 0.3333"));
}

TEST(GossipSync, EachSendsItsDegreeTimesTheModelAStep) {
  const GossipOutcome outcome = train_well(gossip_options("gossip,graph=ring"));
  const TrainResult& result = outcome.results[0];
  EXPECT_EQ(result.peers->rounds, 12);
  EXPECT_GE(result.peers->busiest_bytes_sent, 12 * 2 * 8 * static_cast<std::uint64_t>(result.parameters));
  EXPECT_LT(result.peers->busiest_bytes_sent,
            12 * 2 * (8 * static_cast<std::uint64_t>(result.parameters) + 300))
      << "but for what aligns the tensors";
  EXPECT_EQ(result.peers->bytes_sent, kGossipWorkers * result.peers->busiest_bytes_sent);
}

TEST(GossipSync, TheFirstStepOfTheMeanIsThatOfAllReduce) {
  TrainOptions sums = gossip_options("allreduce");
  TrainOptions gossip = gossip_options("gossip,graph=ring");
  sums.steps = gossip.steps = 1;  // Afterwards gradients are taken at replicas that differ.
  const double expected = train_well(sums).results[0].test->loss;
  EXPECT_NEAR(train_well(gossip).results[0].test->loss, expected, 1e-12);
}

TEST(GossipSync, LearnsOnEveryGraphAndRepeatsToTheBit) {
  for (const std::string graph : {"ring", "torus", "complete", "exponential"}) {
    TrainOptions options = gossip_options("gossip,graph=" + graph);
    options.steps = 60;
    const GossipOutcome first = train_well(options);
    EXPECT_LT(first.results[0].train_loss, 0.9) << graph;
    EXPECT_EQ(first.results[0].parameter_hash, train_well(options).results[0].parameter_hash) << graph;
    for (const TrainResult& result : first.results)
      EXPECT_EQ(result.parameter_hash, first.results[0].parameter_hash) << graph;
  }
}

// Notes the allocations of all workers, which are threads here, after each step of its own.
class AllocationsByStep final : public TrainObserver {
 public:
  void on_span(Activity activity, std::int64_t, std::int64_t) override {
    if (activity == Activity::update && steps_ < counts_.size())
      counts_[steps_++] = allocation_counts().ours.load();
  }
  std::int64_t between(std::size_t first, std::size_t last) const { return counts_[last] - counts_[first]; }

 private:
  std::size_t steps_ = 0;
  std::array<std::int64_t, 20> counts_{};
};

TEST(GossipSync, AllocatesNothingInAStep) {
  TrainOptions options = gossip_options("gossip,graph=ring");
  options.steps = 20;
  options.log_every = options.eval_every = 1000;
  const std::atomic<bool> stop{false};
  AllocationsByStep allocations;
  const auto body = [&](std::unique_ptr<Transport> transport) {
    TrainObserver nobody;
    const bool is_first = transport->rank() == 0;
    Team team(std::move(transport), Mesh::parse("", kGossipWorkers));
    train(options, is_first ? static_cast<TrainObserver&>(allocations) : nobody, stop, team);
  };
  EXPECT_THAT(run_ranks(kGossipWorkers, body), testing::Each(testing::IsEmpty()));
  EXPECT_EQ(allocations.between(8, 14), 0) << "the others are at most two steps away";
}

TEST(GossipSync, ADirectedGraphComesToThePlainMean) {
  const TestFolder folder;
  const std::string file = (folder.path() / "edges").string();
  std::ofstream(file) << "0 -> 1\n1 -> 2\n2 -> 0\n0 -> 3\n3 -> 1\n";
  TrainOptions options = without_learning("gossip,graph=file:" + file);
  options.steps = 40;
  const GossipOutcome outcome = train_well(options);
  EXPECT_LT(outcome.tests.distances.back(), 1e-3 * outcome.tests.distances.front());
  EXPECT_TRUE(outcome.results[0].peers->graph->is_directed);
}

TEST(GossipSync, AGraphInPartsIsRefusedAndShowsWhyWhenAllowed) {
  const TestFolder folder;
  const std::string file = (folder.path() / "edges").string();
  std::ofstream(file) << "0 1\n2 3\n";
  TrainOptions options = without_learning("gossip,graph=file:" + file);
  EXPECT_THAT(train_by_gossip(options).errors[0], testing::HasSubstr("{0, 1} {2, 3}"));
  options.allow_disconnected = true;
  const std::vector<double> distances = train_well(options).tests.distances;
  EXPECT_GT(distances.back(), 0.9 * distances.front()) << "the parts never agree";
}

}  // namespace
}  // namespace hocket
