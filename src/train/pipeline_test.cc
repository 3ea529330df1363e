// Stages of a pipeline, as threads, reach the bits that one worker reaches with the same micro-batches.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <cmath>
#include <map>

#include "data/loader.h"
#include "data/test_files.h"
#include "net/run_ranks.h"
#include "train/checkpoint_store.h"
#include "train/session.h"
#include "train/test_checkpoint.h"
#include "train/test_stop.h"
#include "train/trainer.h"

namespace hocket {
namespace {

using testing::HasSubstr;

TrainOptions mlp_options() {
  TrainOptions options;
  options.model = "mlp,hidden=12x10x8,dropout=0.3";
  options.data = "synthetic:1x6x6:3:64";
  options.batch = 24;  // The last batch of an epoch is shorter.
  options.steps = 4;
  options.threads = 1;
  options.micro_batches = 4;
  return options;
}

TrainOptions gpt_options() {
  TrainOptions options = mlp_options();
  options.model = "gpt,layers=3,width=16,heads=2,dropout=0.1";
  options.data = "synthetic:text,samples=64";
  options.batch = 8;
  options.steps = 3;
  return options;
}

TrainOptions image_options(const std::string& model) {
  TrainOptions options = mlp_options();
  options.model = model;
  options.data = "synthetic:1x16x16:3:32";
  options.batch = 16;
  options.steps = 2;
  return options;
}

struct Outcome {
  std::vector<TrainResult> results;  // By rank.
  std::vector<std::string> errors;
  std::vector<NamedTensor> tensors;  // Of its last checkpoint.

  std::string hash() const { return results.at(0).parameter_hash; }
};

Outcome train_on(const std::string& mesh_text, TrainOptions options, Medium medium = Medium::inproc) {
  const TestFolder folder;
  options.out = folder.path().string();
  const std::atomic<bool> stop{false};
  TrainObserver nobody;
  const Mesh mesh = Mesh::parse(mesh_text, 0);
  Outcome outcome;
  outcome.results.resize(static_cast<std::size_t>(mesh.size()));
  if (mesh.size() == 1) {
    Team alone;
    outcome.results[0] = train(options, nobody, stop, alone);
  } else {
    const auto body = [&](std::unique_ptr<Transport> transport) {
      const auto rank = static_cast<std::size_t>(transport->rank());
      Team team(std::move(transport), mesh);
      outcome.results[rank] = train(options, nobody, stop, team);
    };
    outcome.errors = run_ranks(mesh.size(), body, medium);
    for (const std::string& error : outcome.errors) EXPECT_EQ(error, "");
  }
  Team alone;
  const auto saved = CheckpointStore(folder.path() / "checkpoints", alone).open_newest();
  if (saved) outcome.tensors = read_whole(*saved);
  return outcome;
}

TrainOptions with(TrainOptions options, const std::string& schedule, int micro_batches) {
  options.schedule = schedule;
  options.micro_batches = micro_batches;
  return options;
}

bool same_bytes(const std::vector<NamedTensor>& a, const std::vector<NamedTensor>& b) {
  const auto same = [](const NamedTensor& x, const NamedTensor& y) {
    const auto own = x.second.bytes(), other = y.second.bytes();
    return x.first == y.first && std::equal(own.begin(), own.end(), other.begin(), other.end());
  };
  return !a.empty() && std::equal(a.begin(), a.end(), b.begin(), b.end(), same);
}

void expect_same(const Outcome& alone, const Outcome& together) {
  for (const TrainResult& result : together.results) {
    EXPECT_EQ(result.parameter_hash, alone.hash());
    EXPECT_DOUBLE_EQ(result.train_loss, alone.results[0].train_loss);
    ASSERT_TRUE(result.test && alone.results[0].test);
    EXPECT_DOUBLE_EQ(result.test->loss, alone.results[0].test->loss);
    EXPECT_EQ(result.test->accuracy, alone.results[0].test->accuracy);
  }
  EXPECT_TRUE(same_bytes(alone.tensors, together.tensors));
}

TEST(Pipeline, GivesTheBitsOfOneWorkerForEveryScheduleAndNumberOfMicroBatches) {
  for (const int micro_batches : {1, 2, 4, 8}) {
    const Outcome alone = train_on("", with(mlp_options(), "", micro_batches));
    for (const int stages : {2, 3, 4}) {
      for (const std::string schedule : {"naive", "gpipe", "1f1b"}) {
        SCOPED_TRACE(fmt::format("{} stages, {} micro-batches, {}", stages, micro_batches, schedule));
        expect_same(alone,
                    train_on(fmt::format("pp={}", stages), with(mlp_options(), schedule, micro_batches)));
      }
    }
  }
}

TEST(Pipeline, GivesTheBitsOfOneWorkerForEveryModel) {
  for (const TrainOptions& options :
       {gpt_options(), image_options("lenet"), image_options("resnet,depth=8")}) {
    SCOPED_TRACE(options.model);
    const Outcome alone = train_on("", with(options, "", 4));
    expect_same(alone, train_on("pp=2", with(options, "1f1b", 4)));
    expect_same(alone, train_on("pp=3", with(options, "gpipe", 4)));
  }
}

TEST(Pipeline, GivesTheBitsOfOneWorkerInterleaved) {
  TrainOptions options = gpt_options();
  const Outcome alone = train_on("", options);
  expect_same(alone, train_on("pp=2", with(options, "interleaved,chunks=2", 4)));
  expect_same(alone, train_on("pp=2", with(options, "interleaved,chunks=3", 4)));
  options = image_options("resnet,depth=8");
  expect_same(train_on("", options), train_on("pp=2", with(options, "interleaved", 4)));
  expect_same(train_on("", mlp_options()), train_on("pp=2", with(mlp_options(), "interleaved", 4)));
}

TEST(Pipeline, GivesTheSameBitsHoweverMessagesTravel) {
  const Outcome alone = train_on("", gpt_options());
  for (const Medium medium : {Medium::shm, Medium::tcp}) {
    expect_same(alone, train_on("pp=2", with(gpt_options(), "1f1b", 4), medium));
    expect_same(alone, train_on("pp=3", with(gpt_options(), "gpipe", 4), medium));
  }
}

TEST(Pipeline, TrainsTiedWeightsOnce) {
  TrainOptions options = gpt_options();
  options.model = "gpt,layers=2,width=8,heads=2,tied=1";
  options.dtype = "f64";
  options.steps = 2;
  const Outcome alone = train_on("", options);
  for (const std::string mesh : {"pp=2", "pp=3"}) {
    const Outcome together = train_on(mesh, options);
    EXPECT_LT(largest_difference(alone.tensors, together.tensors), 1e-10);
    EXPECT_NEAR(together.results[0].test->loss, alone.results[0].test->loss, 1e-10);
  }
}

TEST(Pipeline, GoesWithReplicasAndCutLayers) {
  TrainOptions options = gpt_options();
  options.model = "gpt,layers=2,width=8,heads=2,tied=1";
  options.dtype = "f64";
  options.steps = 2;
  options.micro_batches = 2;
  const Outcome alone = train_on("", options);
  for (const std::string mesh : {"pp=2,dp=2", "pp=2,tp=2", "pp=2,dp=2,tp=2"}) {
    SCOPED_TRACE(mesh);
    const Outcome together = train_on(mesh, options);
    EXPECT_LT(largest_difference(alone.tensors, together.tensors), 1e-10);
    for (const TrainResult& result : together.results) {
      EXPECT_NEAR(result.test->loss, alone.results[0].test->loss, 1e-10);
      EXPECT_EQ(result.parameter_hash, together.hash());
    }
  }
}

TEST(Pipeline, ClipsByTheNormOfAllStages) {
  TrainOptions options = mlp_options();
  options.optimizer.clip = 0.1;
  options.gradient_norms = true;
  expect_same(train_on("", options), train_on("pp=3", options));
}

// The norm is added up in the same blocks, however they lie.
TEST(Pipeline, ShardsOptimizerStateClippedAndInChunks) {
  TrainOptions options = mlp_options();
  options.optimizer.clip = 0.1;
  options.bucket = 256;
  for (const int zero : {1, 2, 3}) {
    options.zero = zero;
    SCOPED_TRACE(fmt::format("zero {}", zero));
    const Outcome replicas = train_on("dp=2", options);
    expect_same(replicas, train_on("pp=2,dp=2", with(options, "1f1b", 4)));
    if (zero < 3) expect_same(replicas, train_on("pp=2,dp=2", with(options, "interleaved", 4)));
  }
}

TEST(Pipeline, KeepsAsManyMicroBatchesAsTheScheduleSays) {
  TrainOptions options = gpt_options();
  options.micro_batches = 8;
  const Outcome one = train_on("pp=2", with(options, "naive", 8));
  const Outcome all = train_on("pp=2", with(options, "gpipe", 8));
  const Outcome few = train_on("pp=2", with(options, "1f1b", 8));
  for (std::size_t rank = 0; rank < 2; ++rank) {
    const std::int64_t each = one.results[0].activation_bytes.at(rank);
    EXPECT_GT(each, 0);
    EXPECT_EQ(all.results[0].activation_bytes.at(rank), 8 * each);
    EXPECT_EQ(few.results[0].activation_bytes.at(rank), (rank == 0 ? 2 : 1) * each);
  }
}

TEST(Pipeline, TakesTheStagesThatTheUserNames) {
  TrainOptions options = image_options("lenet");
  const Outcome alone = train_on("", options);
  options.stages = "conv1|conv2,fc1";
  expect_same(alone, train_on("pp=2", options));
}

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

double difference(const Outcome& outcome, const std::map<std::string, std::vector<double>>& weights) {
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
  const Outcome together = train_on("pp=2", options);
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
  const Outcome straight = train_on("pp=3", options);
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
  const Outcome together = train_on("pp=2,dp=2", options);
  for (const TrainResult& result : together.results) EXPECT_EQ(result.parameter_hash, together.hash());
  EXPECT_TRUE(std::isfinite(together.results[0].train_loss));
}

TEST(Recompute, GivesTheSameBitsAndKeepsLess) {
  for (const TrainOptions& given : {gpt_options(), image_options("resnet,depth=8"), mlp_options()}) {
    SCOPED_TRACE(given.model);
    TrainOptions options = given;
    const Outcome kept = train_on("pp=2", options);
    options.recompute = true;
    const Outcome again = train_on("pp=2", options);
    expect_same(kept, again);
    for (std::size_t rank = 0; rank < 2; ++rank)
      EXPECT_LT(again.results[0].activation_bytes.at(rank), kept.results[0].activation_bytes.at(rank));
  }
}

std::string refusal(const std::string& mesh_text, const TrainOptions& options) {
  const std::atomic<bool> stop{false};
  TrainObserver nobody;
  const Mesh mesh = Mesh::parse(mesh_text, 0);
  const auto body = [&](std::unique_ptr<Transport> transport) {
    Team team(std::move(transport), mesh);
    train(options, nobody, stop, team);
  };
  return run_ranks(mesh.size(), body)[0];
}

TEST(Pipeline, RefusesWhatDoesNotFit) {
  TrainOptions options = mlp_options();
  EXPECT_THAT(refusal("pp=2", with(options, "1f1b", 5)), HasSubstr("batch 24 cannot be cut evenly in 5"));
  EXPECT_THAT(refusal("pp=7", options), HasSubstr("cut in 4 stages at most, and 7"));
  EXPECT_THAT(refusal("pp=2", with(options, "interleaved", 3)), HasSubstr("2 stages do not divide 3"));
  EXPECT_THAT(refusal("pp=2", with(options, "gpip", 4)), HasSubstr("gpipe"));
  options.stages = "fc1|";
  EXPECT_THAT(refusal("pp=2", options), HasSubstr("stage 1 is empty"));
  options.stages = "fc2|fc1";
  EXPECT_THAT(refusal("pp=2", options), HasSubstr("comes later"));
  options.stages = "fc1|fc9";
  EXPECT_THAT(refusal("pp=2", options), HasSubstr("no layer fc9"));
}

}  // namespace
}  // namespace hocket
