#include "train/hogwild.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace hocket {
namespace {

TrainOptions dense_options() {
  TrainOptions options;
  options.model = "mlp,hidden=8";
  options.data = "synthetic:1x4x4:3:96";
  options.batch = 16;
  options.threads = 1;
  options.epochs = 2;
  return options;
}

TrainOptions sparse_options() {
  TrainOptions options;
  options.model = "logreg";
  options.data = "synthetic:sparse,samples=600,features=300,nonzeros=8";
  options.batch = 20;
  options.optimizer.rule = "sgd";
  options.learning_rate = 5;
  options.threads = 1;
  options.epochs = 3;
  return options;
}

TrainResult by_threads(TrainOptions options, int threads, const std::string& sync = "hogwild") {
  options.workers = threads;
  options.sync = sync;
  TrainObserver nobody;
  return train_hogwild(options, nobody, std::atomic<bool>(false));
}

TrainResult serial(const TrainOptions& options) {
  TrainObserver nobody;
  Team alone;
  return train(options, nobody, std::atomic<bool>(false), alone);
}

TEST(Hogwild, OneThreadTrainsAsOneWorkerToTheBit) {
  TrainOptions options = dense_options();
  EXPECT_EQ(by_threads(options, 1).parameter_hash, serial(options).parameter_hash);
  options.optimizer.rule = "adam";
  EXPECT_EQ(by_threads(options, 1).parameter_hash, serial(options).parameter_hash);
}

TEST(Hogwild, OneThreadOnSparseRowsGoesDownThePathOfOneWorker) {
  for (const char* model : {"logreg", "svm", "linreg"}) {
    TrainOptions options = sparse_options();
    options.model = model;
    if (options.model == "linreg") options.learning_rate = 0.2;
    if (options.model == "svm") options.learning_rate = 3.7;  // So that no margin is met to the bit.
    EXPECT_NEAR(by_threads(options, 1).test->loss, serial(options).test->loss, 1e-5) << model;
  }
}

TEST(Hogwild, ThreadsTakeEverySampleOnce) {
  for (const std::string sync : {"hogwild", "hogwild,rows=3", "hogwild,locked=1"}) {
    const TrainResult result = by_threads(sparse_options(), 3, sync);
    EXPECT_EQ(result.samples, 1800);
    EXPECT_EQ(result.steps, 90);
    ASSERT_EQ(result.gradients.size(), 3U);
    std::int64_t applied = 0;
    for (const GradientCounts& counts : result.gradients) applied += counts.applied;
    EXPECT_EQ(applied, sync == "hogwild" ? 90 * 3 : sync == "hogwild,rows=3" ? 90 * 7 : 90 * 3);
    EXPECT_NEAR(result.test->loss, by_threads(sparse_options(), 1).test->loss, 0.1) << sync;
  }
}

TEST(Hogwild, LocksLetNobodyIn) {
  const TrainResult result = by_threads(dense_options(), 2, "hogwild,locked=1");
  EXPECT_EQ(result.conflicts->conflicts, 0);
  EXPECT_GT(result.conflicts->writes, 0);
}

TEST(Hogwild, RefusesWhatItCannotDo) {
  TrainOptions options = dense_options();
  options.zero = 1;
  EXPECT_THROW(by_threads(options, 2), ConfigError);
  options = dense_options();
  options.mesh = "dp=1,tp=2";
  EXPECT_THROW(by_threads(options, 0), ConfigError);
}

TEST(Hogwild, DivergenceEndsAllThreads) {
  TrainOptions options = sparse_options();
  options.model = "linreg";
  options.learning_rate = 1e9;
  options.epochs = 20;
  try {
    by_threads(options, 2);
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr(kNotFinite));
  }
}

}  // namespace
}  // namespace hocket
