// Models that pass a driver, and models that do not.
#include <gtest/gtest.h>

#include <atomic>
#include <map>

#include "data/file.h"
#include "data/test_files.h"
#include "net/run_ranks.h"
#include "train/checkpoint_store.h"
#include "train/test_checkpoint.h"
#include "train/test_together.h"
#include "train/trainer.h"

namespace hocket {
namespace {

TrainOptions dense_driver_options(const std::string& sync, const std::filesystem::path& out) {
  TrainOptions options;
  options.model = "mlp,hidden=16";
  options.data = "synthetic:1x4x4:16:61";  // A model of 16·16 + 16 + 16·16 + 16 elements, without padding.
  options.batch = 20;
  options.steps = 6;
  options.epochs = 6;
  options.dtype = "f64";
  options.threads = 1;
  options.optimizer.rule = "sgd";
  options.sync = sync;
  options.out = out.string();
  return options;
}

TrainOptions sparse_driver_options(const std::string& sync, const std::filesystem::path& out) {
  TrainOptions options = dense_driver_options(sync, out);
  options.model = "logreg,c=0.01";
  options.data = "synthetic:sparse,samples=60,features=50,nonzeros=5";
  options.dtype = "f32";
  options.learning_rate = 0.5;
  options.steps = 9;
  options.epochs = 9;
  return options;
}

// Parameters of the newest checkpoint of a run, as doubles.
std::map<std::string, std::vector<double>> parameter_values_in(const std::filesystem::path& run) {
  Team alone;
  std::map<std::string, std::vector<double>> parameters;
  for (const auto& [name, tensor] : read_whole(*CheckpointStore(run / "checkpoints", alone).open_newest())) {
    if (!name.starts_with("param/")) continue;
    if (tensor.dtype() == DType::f64) {
      const auto values = tensor.values<double>();
      parameters[name] = {values.begin(), values.end()};
    } else {
      const auto values = tensor.values<float>();
      parameters[name] = {values.begin(), values.end()};
    }
  }
  return parameters;
}

double run_difference(const std::filesystem::path& one, const std::filesystem::path& other) {
  const auto a = parameter_values_in(one);
  const auto b = parameter_values_in(other);
  double largest = a.empty() || a.size() != b.size() ? INFINITY : 0;
  for (const auto& [name, values] : a) {
    for (std::size_t i = 0; i < values.size(); ++i)
      largest = std::max(largest, std::abs(values[i] - b.at(name)[i]));
  }
  return largest;
}

TEST(DriverSync, MapReduceIsDescentByTheGradientOfAllData) {
  const TestFolder folder;
  const TrainOptions mapped = dense_driver_options("mapreduce", folder.path() / "mapped");
  TrainOptions serial = dense_driver_options("allreduce", folder.path() / "serial");
  serial.batch = 61;
  const auto found = train_together(mapped, 1 + kWorkers);
  const auto expected = train_together(serial, 1);
  EXPECT_LT(run_difference(mapped.out, serial.out), 1e-12);
  EXPECT_EQ(found[0].steps, 6);
  EXPECT_EQ(found[0].samples, expected[0].samples);
  EXPECT_NEAR(found[0].train_loss, expected[0].train_loss, 1e-12);
  EXPECT_NEAR(found[0].test->loss, expected[0].test->loss, 1e-12);
}

TEST(DriverSync, MapReduceTakesSparseRows) {
  const TestFolder folder;
  const TrainOptions mapped = sparse_driver_options("mapreduce,cache=1", folder.path() / "mapped");
  TrainOptions serial = sparse_driver_options("allreduce", folder.path() / "serial");
  serial.batch = 60;
  train_together(mapped, 1 + kWorkers);
  train_together(serial, 1);
  EXPECT_LT(run_difference(mapped.out, serial.out), 1e-6);
}

TEST(DriverSync, TheModelsOfAllWorkersPassTheDriverTwiceARound) {
  const TestFolder folder;
  const auto results = train_together(dense_driver_options("mllib", folder.path()), 1 + kWorkers);
  const std::uint64_t model = (16 * 16 + 16 + 16 * 16 + 16) * sizeof(double);
  EXPECT_EQ(results[0].parameters * static_cast<std::int64_t>(sizeof(double)),
            static_cast<std::int64_t>(model));
  EXPECT_EQ(results[0].peers->rounds, 6);
  EXPECT_EQ(results[0].peers->driver_bytes, 6 * 2 * kWorkers * model);
  for (const TrainResult& result : results) EXPECT_EQ(result.parameter_hash, results[0].parameter_hash);
}

TEST(DriverSync, MllibIsAllReduceForTheOptimizersItTakes) {
  for (const std::string rule : {"sgd", "momentum"}) {
    const TestFolder folder;
    TrainOptions sums = dense_driver_options("allreduce", folder.path() / "sums");
    TrainOptions models = dense_driver_options("mllib", folder.path() / "models");
    sums.optimizer.rule = models.optimizer.rule = rule;
    train_together(sums, kWorkers);
    train_together(models, 1 + kWorkers);
    EXPECT_LT(run_difference(sums.out, models.out), 1e-12) << rule;
  }
}

TEST(DriverSync, RefusesWhatAMeanOfStepsIsNot) {
  const TestFolder folder;
  TrainOptions options = dense_driver_options("mllib", folder.path());
  options.optimizer.rule = "adam";
  const std::atomic<bool> stop{false};
  const auto errors = run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    TrainObserver nobody;
    Team team(std::move(transport), Mesh::parse("", 2));
    train(options, nobody, stop, team);
  });
  EXPECT_NE(errors[0].find("which is no step of adam; choose sgd or momentum"), std::string::npos)
      << errors[0];
}

TEST(AverageSync, SendsNothingToADriverAndAModelOnceARound) {
  const TestFolder folder;
  const auto results = train_together(dense_driver_options("average", folder.path()), 4);
  const std::uint64_t model = (16 * 16 + 16 + 16 * 16 + 16) * sizeof(double);
  EXPECT_EQ(results[0].peers->rounds, 1);  // An epoch of four batches, and a half.
  EXPECT_EQ(results[0].peers->driver_bytes, 0U);
  EXPECT_EQ(results[0].peers->bytes_sent, 2 * 3 * model);
}

TEST(AverageSync, LazyDecayIsEagerDecay) {
  const TestFolder folder;
  const TrainOptions lazy = sparse_driver_options("average,steps=2", folder.path() / "lazy");
  const TrainOptions eager = sparse_driver_options("average,steps=2,lazy=0", folder.path() / "eager");
  const auto found = train_together(lazy, kWorkers);
  const auto expected = train_together(eager, kWorkers);
  EXPECT_LT(run_difference(lazy.out, eager.out), 1e-5);
  ASSERT_TRUE(found[0].objective && expected[0].objective);
  EXPECT_NEAR(*found[0].objective / *expected[0].objective, 1, 1e-5);
  TrainOptions none = lazy;
  none.model = "logreg";
  none.out = (folder.path() / "none").string();
  train_together(none, kWorkers);
  EXPECT_GT(run_difference(lazy.out, none.out), 1e-2);  // There is a decay to be lazy about.
}

}  // namespace
}  // namespace hocket
