// Workers that train by themselves and now and then agree.
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "data/test_files.h"
#include "net/run_ranks.h"
#include "train/checkpoint_store.h"
#include "train/test_checkpoint.h"
#include "train/test_together.h"
#include "train/trainer.h"

namespace hocket {
namespace {

TrainOptions local_options(const std::string& sync, const std::filesystem::path& out) {
  TrainOptions options;
  options.model = "mlp,hidden=8,dropout=0.3";
  options.data = "synthetic:1x6x6:3:64";
  options.batch = 21;  // Four batches an epoch; the last one has a single sample.
  options.steps = 12;
  options.dtype = "f64";
  options.threads = 1;
  options.sync = sync;
  options.out = out.string();
  return options;
}

// Parameters of the newest checkpoint of a run.
std::vector<NamedTensor> parameters_in(const std::filesystem::path& run) {
  Team alone;
  std::vector<NamedTensor> parameters;
  for (const NamedTensor& each : read_whole(*CheckpointStore(run / "checkpoints", alone).open_newest()))
    if (each.first.starts_with("param/")) parameters.push_back(each);
  return parameters;
}

TEST(LocalSync, OneStepARoundIsAllReduce) {
  for (const std::string rule : {"sgd", "momentum"}) {
    const TestFolder folder;
    TrainOptions sums = local_options("allreduce", folder.path() / "sums");
    TrainOptions means = local_options("local,tau=1", folder.path() / "means");
    sums.optimizer.rule = means.optimizer.rule = rule;
    const auto expected = train_together(sums);
    const auto found = train_together(means);
    EXPECT_LT(largest_difference(parameters_in(sums.out), parameters_in(means.out)), 1e-12) << rule;
    EXPECT_NEAR(found[0].test->loss, expected[0].test->loss, 1e-12);
    EXPECT_NEAR(found[0].train_loss, expected[0].train_loss, 1e-12);
  }
}

TEST(LocalSync, SendsAsManyTimesFewerBytesAsItTakesStepsByItself) {
  const TestFolder folder;
  const auto every = train_together(local_options("local,tau=1", folder.path() / "1"));
  const auto third = train_together(local_options("local,tau=3", folder.path() / "3"));
  EXPECT_EQ(every[0].peers->rounds, 12);
  EXPECT_EQ(third[0].peers->rounds, 4);
  EXPECT_GT(third[0].peers->bytes_sent, 0U);
  EXPECT_EQ(every[0].peers->bytes_sent, 3 * third[0].peers->bytes_sent);
}

TEST(LocalSync, ShowsAllWorkersTheSameMeanWhileTheirReplicasDiffer) {
  const TestFolder folder;
  const TrainOptions options = local_options("local,tau=5", folder.path());  // Ends between two rounds.
  const auto results = train_together(options);
  for (const TrainResult& result : results) {
    EXPECT_EQ(result.parameter_hash, results[0].parameter_hash);
    EXPECT_EQ(result.test->loss, results[0].test->loss);
  }
  Team alone;
  const auto tensors = read_whole(*CheckpointStore(folder.path() / "checkpoints", alone).open_newest());
  const auto value = [&](const std::string& name) {
    for (const auto& [each, tensor] : tensors)
      if (each == name) return tensor.values<double>()[0];
    ADD_FAILURE() << name;
    return 0.0;
  };
  const std::string weight = parameters_in(folder.path())[0].first;
  EXPECT_NE(value("replica/0/" + weight), value("replica/1/" + weight));
  const double sum =
      value("replica/0/" + weight) + value("replica/1/" + weight) + value("replica/2/" + weight);
  EXPECT_NEAR(value(weight), sum / 3, 1e-15);
}

TEST(LocalSync, GoesOnAfterAnInterruptionAsIfThereHadBeenNone) {
  const TestFolder folder;
  TrainOptions options = local_options("local,tau=4", folder.path() / "whole");
  const std::string whole = train_together(options)[0].parameter_hash;
  options.out = (folder.path() / "parts").string();
  const auto first = train_together(options, kWorkers, 3);
  EXPECT_TRUE(first[0].interrupted);
  EXPECT_EQ(first[0].steps, 4);  // Where all met.
  options.resume = true;
  EXPECT_EQ(train_together(options)[0].parameter_hash, whole);
}

TEST(AdaptiveSync, TakesFewerStepsARoundAsTheRunGoesOn) {
  const TestFolder folder;
  TrainOptions options = local_options("adacomm,tau0=4,every=4", folder.path() / "whole");
  const auto whole = train_together(options);
  const std::vector<PeerCounts::Period>& periods = whole[0].peers->periods;
  ASSERT_GE(periods.size(), 2U);
  EXPECT_EQ(periods[0].tau, 4);
  EXPECT_EQ(periods[1].step, 5);
  for (std::size_t i = 1; i < periods.size(); ++i) EXPECT_LT(periods[i].tau, periods[i - 1].tau);

  options.out = (folder.path() / "parts").string();
  EXPECT_TRUE(train_together(options, kWorkers, 3)[0].interrupted);
  options.resume = true;
  EXPECT_EQ(train_together(options)[0].parameter_hash, whole[0].parameter_hash);
}

TEST(LocalSync, OtherReplicasThanBeforeBeginAtTheirMean) {
  const TestFolder folder;
  TrainOptions options = local_options("local,tau=5", folder.path());
  const std::string before = train_together(options)[0].parameter_hash;
  options.resume = true;
  EXPECT_EQ(train_together(options, 2)[0].parameter_hash, before);
}

TEST(LocalSync, JudgesByTheMeanOfTheStatisticsOfBatchNorm) {
  const TestFolder folder;
  TrainOptions options = local_options("local,tau=2", folder.path());
  options.model = "resnet,depth=8";
  options.data = "synthetic:1x8x8:3:16";
  options.dtype = "f32";
  options.batch = 8;
  options.steps = 2;
  const auto results = train_together(options, 2);
  EXPECT_EQ(results[0].test->loss, results[1].test->loss);
  Team alone;
  std::map<std::string, Tensor> tensors;
  for (const auto& [name, tensor] :
       read_whole(*CheckpointStore(folder.path() / "checkpoints", alone).open_newest()))
    tensors.emplace(name, tensor);
  int statistics = 0;
  for (const auto& [name, tensor] : tensors) {
    if (!name.starts_with("buffer/")) continue;
    ++statistics;
    const float one = tensors.at("replica/0/" + name).values<float>()[0];
    const float other = tensors.at("replica/1/" + name).values<float>()[0];
    EXPECT_NE(one, other) << name;
    EXPECT_FLOAT_EQ(tensor.values<float>()[0], (one + other) / 2) << name;
  }
  EXPECT_GT(statistics, 0);
}

TEST(LocalSync, RefusesWhatSumsGradients) {
  const TestFolder folder;
  TrainOptions options = local_options("local,tau=2", folder.path());
  options.zero = 1;
  const std::atomic<bool> stop{false};
  const auto errors = run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    TrainObserver nobody;
    Team team(std::move(transport), Mesh::parse("", 2));
    train(options, nobody, stop, team);
  });
  EXPECT_EQ(errors[0], "--zero does not go with --sync local,tau=2");
}

}  // namespace
}  // namespace hocket
