// An endless stream meets the weights that it would meet by hand, and drains where it should.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "data/loader.h"
#include "train/session.h"
#include "train/test_pipeline.h"
#include "train/test_stop.h"

namespace hocket {
namespace {

// PipeDream, written down by hand: the weights that every micro-batch meets in each of two stages, where the
// stream goes on from batch to batch and drains after every `drains` of them.
class ByHand {
 public:
  explicit ByHand(const TrainOptions& options)
      : options_(options),
        data_(open_session_data(options)),
        session_(options, data_.train->info(), alone_) {}

  // The weights after all steps, by name.
  std::map<std::string, std::vector<double>> run(bool vertical, bool stashes, std::int64_t drains = 100) {
    Executable& executable = session_.program().training();
    LoaderOptions loading;
    loading.batch = loading.rows = options_.batch;
    loading.seed = options_.seed;
    Loader loader(*data_.train, loading);
    Slot slot = executable.make_slot();
    double dloss = 0;
    Hyper hyper;
    executable.bind(slot, "dloss", reinterpret_cast<std::byte*>(&dloss));
    executable.bind(slot, "hyper", reinterpret_cast<std::byte*>(&hyper));
    session_.memory().initialize(session_.program(), options_.seed);
    Versions versions{weights()};
    for (std::int64_t step = 0; step < options_.steps; ++step) {
      if (step % drains == 0) versions = {versions.back()};
      const Batch& batch = loader.next();
      for (std::int64_t row = 0; row < batch.count; row += session_.micro_batch()) {
        dloss = 1.0 / static_cast<double>(std::min(batch.count - row, session_.micro_batch()));
        bind_batch(executable, slot, data_.train->info(), batch, row);
        compute(slot, versions, vertical, stashes);
        update(versions);
      }
    }
    return versions.back();
  }

 private:
  using Versions = std::vector<std::map<std::string, std::vector<double>>>;

  void compute(Slot& slot, const Versions& versions, bool vertical, bool stashes) {
    const int m = static_cast<int>(versions.size()) - 1;
    const auto version = [&](int stage, bool is_forward) {
      if (!is_forward && !stashes) return m;
      return std::max(0, m - (vertical || stage == 0 ? 1 : 0));
    };
    for (const bool is_forward : {true, false}) {
      for (const ArenaLayout::Entry& entry : session_.program().layouts().parameters.entries()) {
        const int stage = entry.name < "fc3" ? 0 : 1;
        set(entry, versions[static_cast<std::size_t>(version(stage, is_forward))].at(entry.name));
      }
      session_.program().training().run(is_forward ? Phase::forward : Phase::backward, slot,
                                        session_.memory().bindings());
    }
  }

  void update(Versions& versions) {
    versions.push_back(versions.back());
    for (const ArenaLayout::Entry& entry : session_.program().layouts().parameters.entries()) {
      const Tensor gradient = view_of(session_.memory().gradients, entry);
      std::vector<double>& own = versions.back().at(entry.name);
      for (std::size_t i = 0; i < own.size(); ++i)
        own[i] -= options_.learning_rate * gradient.values<double>()[i];
    }
  }

  std::map<std::string, std::vector<double>> weights() {
    std::map<std::string, std::vector<double>> all;
    for (const ArenaLayout::Entry& entry : session_.program().layouts().parameters.entries()) {
      const Tensor tensor = view_of(session_.memory().parameters, entry);
      all[entry.name].assign(tensor.values<double>().begin(), tensor.values<double>().end());
    }
    return all;
  }

  void set(const ArenaLayout::Entry& entry, const std::vector<double>& values) {
    const Tensor tensor = view_of(session_.memory().parameters, entry);
    std::copy(values.begin(), values.end(), tensor.values<double>().begin());
  }

  TrainOptions options_;
  SessionData data_;
  Team alone_;
  Session session_;
};

TrainOptions stream_options(const std::string& schedule) {
  TrainOptions options = with(mlp_options(), schedule, 6);
  options.model = "mlp,hidden=12x10x8";
  options.dtype = "f64";
  options.optimizer.rule = "sgd";
  options.learning_rate = 0.5;
  options.steps = 3;  // An epoch, whose last batch has but four micro-batches.
  return options;
}

double difference(const PipelineOutcome& outcome, const std::map<std::string, std::vector<double>>& weights) {
  double largest = 0;
  for (const NamedTensor& tensor : outcome.tensors) {
    if (!tensor.first.starts_with("param/")) continue;
    const std::vector<double>& other = weights.at(tensor.first.substr(6));
    for (std::size_t i = 0; i < other.size(); ++i)
      largest = std::max(largest, std::abs(tensor.second.values<double>()[i] - other[i]));
  }
  return largest;
}

TEST(PipeDream, UsesInEachBackwardTheWeightsOfItsForward) {
  TrainOptions options = stream_options("pipedream");
  ByHand by_hand(options);
  options.stages = "fc1,fc2|fc3,fc4";
  const PipelineOutcome together = train_on("pp=2", options);
  EXPECT_LT(difference(together, by_hand.run(false, true)), 1e-12);
  EXPECT_GT(difference(together, by_hand.run(false, true, 1)), 1e-6);
  EXPECT_GT(difference(together, by_hand.run(false, false)), 1e-6);
  EXPECT_GT(difference(together, by_hand.run(true, true)), 1e-6);
}

TEST(PipeDream, UsesOneVersionInAllStagesWithVerticalSync) {
  TrainOptions options = stream_options("pipedream,vertical=1");
  ByHand by_hand(options);
  options.stages = "fc1,fc2|fc3,fc4";
  EXPECT_LT(difference(train_on("pp=2", options), by_hand.run(true, true)), 1e-12);
}

TEST(PipeDream, DrainsWhereItIsTestedOrSavedAndNowhereElse) {
  TrainOptions options = stream_options("pipedream");
  options.steps = 6;
  options.log_every = 1;
  ByHand by_hand(options);
  options.stages = "fc1,fc2|fc3,fc4";
  options.eval_every = 2;
  EXPECT_LT(difference(train_on("pp=2", options), by_hand.run(false, true, 2)), 1e-12);
  options.eval_every = 6;
  options.checkpoint_every = 3;
  EXPECT_LT(difference(train_on("pp=2", options), by_hand.run(false, true, 3)), 1e-12);
  options.checkpoint_every = 0;
  EXPECT_LT(difference(train_on("pp=2", options), by_hand.run(false, true, 6)), 1e-12);
}

// More stages than a batch has micro-batches: several batches are under way.
TEST(PipeDream, StreamsBatchesOfOneMicroBatch) {
  TrainOptions options = with(stream_options("pipedream"), "pipedream", 1);
  options.batch = 8;
  options.steps = 8;
  ByHand by_hand(options);
  EXPECT_GT(difference(train_on("pp=4", options), by_hand.run(false, true)), 1e-6);
  options.stages = "fc1,fc2|fc3,fc4";
  EXPECT_LT(difference(train_on("pp=2", options), by_hand.run(false, true)), 1e-12);
}

TEST(PipeDream, GoesOnFromACheckpointAsIfItHadNeverStopped) {
  TrainOptions options = stream_options("pipedream");
  options.steps = 8;
  options.checkpoint_every = 2;
  const PipelineOutcome straight = train_on("pp=3", options);
  const TestFolder folder;
  const std::atomic<bool> stop{false};
  TrainObserver nobody;
  options.out = folder.path().string();
  for (const std::int64_t steps : {4, 8}) {
    options.steps = steps;
    options.resume = steps == 8;
    std::vector<std::string> hashes(3);
    run_ranks(3, [&](std::unique_ptr<Transport> transport) {
      const auto rank = static_cast<std::size_t>(transport->rank());
      Team team(std::move(transport), Mesh::parse("pp=3", 0));
      hashes[rank] = train(options, nobody, stop, team).parameter_hash;
    });
    EXPECT_EQ(hashes[2] == straight.hash(), steps == 8);
  }
}

// Whichever stage wants to stop, all of them drain after the same batch.
TEST(PipeDream, StopsInAllStagesAfterTheSameBatch) {
  for (const std::size_t who : {0, 2}) {
    TrainOptions options = stream_options("pipedream");
    options.steps = 300;
    options.eval_every = 300;
    std::vector<TrainResult> results(3);
    const auto body = [&](std::unique_ptr<Transport> transport) {
      const auto rank = static_cast<std::size_t>(transport->rank());
      std::atomic<bool> stop{false};
      StopAfter observer(rank == who ? 20 : -1, stop);
      Team team(std::move(transport), Mesh::parse("pp=3", 0));
      results[rank] = train(options, observer, stop, team);
    };
    for (const std::string& error : run_ranks(3, body)) EXPECT_EQ(error, "");
    for (const TrainResult& result : results) {
      EXPECT_TRUE(result.interrupted);
      EXPECT_EQ(result.steps, results[0].steps);
      EXPECT_EQ(result.parameter_hash, results[0].parameter_hash);
    }
    EXPECT_GE(results[0].steps, 4);
    EXPECT_LT(results[0].steps, 30);
  }
}

TEST(PipeDream, KeepsReplicasAlike) {
  TrainOptions options = stream_options("pipedream");
  options.steps = 4;
  const PipelineOutcome together = train_on("pp=2,dp=2", options);
  for (const TrainResult& result : together.results) EXPECT_EQ(result.parameter_hash, together.hash());
  EXPECT_TRUE(std::isfinite(together.results[0].train_loss));
}

}  // namespace
}  // namespace hocket
