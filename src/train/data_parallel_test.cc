// Several workers, as threads, reach the parameters that one reaches alone.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>

#include "data/test_files.h"
#include "net/run_ranks.h"
#include "train/checkpoint_store.h"
#include "train/session.h"
#include "train/test_checkpoint.h"
#include "train/test_stop.h"
#include "train/trainer.h"

namespace hocket {
namespace {

TrainOptions data_parallel_options() {
  TrainOptions options;
  options.model = "mlp,hidden=8,dropout=0.3";  // Dropout draws by the row of the whole batch.
  options.data = "synthetic:1x6x6:3:64";
  options.batch = 21;  // Four batches an epoch; the last one has a single sample.
  options.steps = 10;
  options.dtype = "f64";
  options.threads = 1;
  return options;
}

struct WorkersOutcome {
  std::vector<TrainResult> results;  // By rank.
  std::vector<NamedTensor> tensors;  // Of its last checkpoint.
};

Mesh workers(int count) { return Mesh::parse("", count); }

WorkersOutcome train_with(TrainOptions options, int ranks, Medium medium = Medium::inproc,
                          bool overlap = false) {
  const TestFolder folder;
  options.out = folder.path().string();
  const std::atomic<bool> stop{false};
  TrainObserver nobody;
  WorkersOutcome outcome;
  outcome.results.resize(static_cast<std::size_t>(ranks));
  if (ranks == 1) {
    Team alone;
    outcome.results[0] = train(options, nobody, stop, alone);
  } else {
    const auto body = [&](std::unique_ptr<Transport> transport) {
      const auto rank = static_cast<std::size_t>(transport->rank());
      Team team(std::move(transport), workers(ranks), overlap);
      outcome.results[rank] = train(options, nobody, stop, team);
    };
    for (const std::string& error : run_ranks(ranks, body, medium)) EXPECT_EQ(error, "");
  }
  Team alone;
  const auto saved = CheckpointStore(folder.path() / "checkpoints", alone).open_newest();
  if (saved) outcome.tensors = read_whole(*saved);
  return outcome;
}

class DataParallel : public testing::TestWithParam<std::tuple<int, int>> {};  // Workers, micro-batches.

TEST_P(DataParallel, ReachesTheParametersOfOneWorker) {
  const auto [ranks, micro_batches] = GetParam();
  TrainOptions options = data_parallel_options();
  const WorkersOutcome alone = train_with(options, 1);
  options.micro_batches = micro_batches;
  const WorkersOutcome together = train_with(options, ranks);
  EXPECT_LT(largest_difference(alone.tensors, together.tensors), 1e-10);
  for (const TrainResult& result : together.results) {
    EXPECT_EQ(result.parameter_hash, together.results[0].parameter_hash);
    EXPECT_EQ(result.samples, alone.results[0].samples);
    EXPECT_NEAR(result.train_loss, alone.results[0].train_loss, 1e-10);
    ASSERT_TRUE(result.test && result.test->accuracy);
    EXPECT_NEAR(result.test->loss, alone.results[0].test->loss, 1e-10);
    EXPECT_EQ(result.test->accuracy, alone.results[0].test->accuracy);
    EXPECT_EQ(result.ranks.size(), static_cast<std::size_t>(ranks));
  }
}

INSTANTIATE_TEST_SUITE_P(Workers, DataParallel,
                         testing::Combine(testing::Values(1, 2, 3, 5), testing::Values(1, 2, 4)));

TEST(DataParallel, BalancedSharesReachTheSameParameters) {
  TrainOptions options = data_parallel_options();
  options.steps = 12;
  const WorkersOutcome alone = train_with(options, 1);
  options.balance = true;
  options.slow = "1=4";
  options.emulate_compute = 0.002;
  const WorkersOutcome together = train_with(options, 3);
  EXPECT_LT(largest_difference(alone.tensors, together.tensors), 1e-10);
  EXPECT_EQ(together.results[0].samples, alone.results[0].samples);
  const std::vector<std::int64_t>& shares = together.results[0].shares;
  ASSERT_EQ(shares.size(), 3U);
  EXPECT_LT(2 * shares[1], shares[0]);
  EXPECT_EQ(together.results[2].shares, shares);
}

TEST(DataParallel, SharesSparseRows) {
  TrainOptions options = data_parallel_options();
  options.data = "synthetic:sparse,samples=64,features=40,nonzeros=6";
  options.dtype = "f32";  // As the rows are.
  for (const std::string model : {"logreg", "svm,c=1"}) {
    for (const int zero : {0, 3}) {
      options.model = model;
      options.zero = 0;
      const WorkersOutcome alone = train_with(options, 1);
      options.zero = zero;
      const WorkersOutcome together = train_with(options, 3);
      EXPECT_LT(largest_difference(alone.tensors, together.tensors), 1e-6) << model << ", zero " << zero;
      EXPECT_EQ(together.results[0].samples, alone.results[0].samples);
    }
  }
}

TEST(DataParallel, GivesTheSameBitsHoweverMessagesTravel) {
  TrainOptions options = data_parallel_options();
  options.reduce_order = "rank";
  const std::string hash = train_with(options, 3).results[0].parameter_hash;
  EXPECT_EQ(train_with(options, 3, Medium::shm).results[0].parameter_hash, hash);
  EXPECT_EQ(train_with(options, 3, Medium::tcp).results[0].parameter_hash, hash);
}

// Workers that share memory have weights and optimizer state in common, unless norms of whole sums are
// wanted.
TEST(DataParallel, GivesTheSameBitsWithWeightsInCommon) {
  TrainOptions options = data_parallel_options();
  options.dtype = "f32";
  options.model = "mlp,hidden=40x8";
  options.eval_every = 3;
  options.checkpoint_every = 4;
  for (const int ranks : {2, 3, 5}) {
    for (const std::string rule : {"sgd", "momentum", "nesterov", "adagrad", "adam", "adamw"}) {
      for (const std::int64_t bucket : {0, 64}) {
        SCOPED_TRACE(fmt::format("{} ranks, {}, buckets of {}", ranks, rule, bucket));
        options.optimizer.rule = rule;
        options.bucket = bucket;
        options.gradient_norms = true;
        const WorkersOutcome expected = train_with(options, ranks);
        options.gradient_norms = false;
        const WorkersOutcome found = train_with(options, ranks);
        EXPECT_EQ(largest_difference(expected.tensors, found.tensors), 0);
        for (const TrainResult& result : found.results) {
          EXPECT_EQ(result.parameter_hash, expected.results[0].parameter_hash);
          EXPECT_EQ(result.test->loss, expected.results[0].test->loss);
        }
      }
    }
  }
}

TEST(DataParallel, HasWeightsInCommonWhereSumsAreDirect) {
  const auto are_common = [](const auto& change) {
    TrainOptions given = data_parallel_options();
    given.dtype = "f32";
    change(given);
    const SessionData data = open_session_data(given);
    const TrainOptions options = with_defaults(given, data.train->info());
    std::vector<const std::byte*> places(2);
    const auto body = [&](std::unique_ptr<Transport> transport) {
      Team team(std::move(transport), workers(2), false);
      Session session(options, data.train->info(), team);
      session.share_weights(options);
      places[static_cast<std::size_t>(team.rank())] = session.memory().parameters.data();
      team.communicator()->gradients()->barrier();
    };
    for (const std::string& error : run_ranks(2, body)) EXPECT_EQ(error, "");
    return places[0] == places[1];
  };
  EXPECT_TRUE(are_common([](TrainOptions&) {}));
  EXPECT_TRUE(are_common([](TrainOptions& o) { o.algorithm = "direct"; }));
  EXPECT_FALSE(are_common([](TrainOptions& o) { o.algorithm = "sharded"; }));
  EXPECT_FALSE(are_common([](TrainOptions& o) { o.reduce_order = "any"; }));
  EXPECT_FALSE(are_common([](TrainOptions& o) { o.gradient_norms = true; }));
}

// Tests, checkpoints and records between the steps look at weights whose update may be late, and the order in
// which sums travel is planned anew.
TEST(DataParallel, GivesTheSameBitsWhereUpdatesAreLate) {
  TrainOptions options = data_parallel_options();
  options.reduce_order = "rank";
  options.steps = 40;
  options.eval_every = 5;
  options.checkpoint_every = 7;
  options.log_every = 3;
  options.bucket = 64;
  options.lr_schedule = "cosine";  // Each update must see its own step's rate.
  options.model = "mlp,hidden=16x8";
  for (const bool norms : {false, true}) {
    options.gradient_norms = norms;
    const WorkersOutcome expected = train_with(options, 2);
    const WorkersOutcome found = train_with(options, 2, Medium::tcp, true);
    EXPECT_EQ(found.results[0].parameter_hash, expected.results[0].parameter_hash);
    EXPECT_EQ(found.results[1].parameter_hash, expected.results[0].parameter_hash);
    EXPECT_EQ(largest_difference(found.tensors, expected.tensors), 0);
    EXPECT_EQ(found.results[0].train_loss, expected.results[0].train_loss);
    EXPECT_EQ(found.results[0].test->loss, expected.results[0].test->loss);
  }
}

// Large weights are read, and their gradients made, in parts, whether updates are late or, with clipping,
// not.
TEST(DataParallel, GivesTheSameBitsWhereWeightsGoInParts) {
  TrainOptions options = data_parallel_options();
  options.reduce_order = "rank";
  options.dtype = "f32";
  options.data = "synthetic:1x16x16:3:1100";  // The last batch of an epoch is a short one.
  options.model = "mlp,hidden=512x512";
  options.batch = 256;
  options.steps = 20;
  options.bucket = 65536;
  for (const double clip : {0.0, 1.0}) {
    options.optimizer.clip = clip;
    const WorkersOutcome expected = train_with(options, 2);
    const WorkersOutcome found = train_with(options, 2, Medium::tcp, true);
    EXPECT_EQ(found.results[0].parameter_hash, expected.results[0].parameter_hash) << "clip " << clip;
    EXPECT_EQ(found.results[1].parameter_hash, expected.results[0].parameter_hash) << "clip " << clip;
  }
}

TEST(DataParallel, AveragesTheStatisticsOfBatchNorm) {
  TrainOptions options = data_parallel_options();
  options.model = "resnet,depth=8";
  options.batch = 16;
  options.steps = 2;
  const WorkersOutcome together = train_with(options, 2);
  EXPECT_EQ(together.results[0].test->loss, together.results[1].test->loss);
}

// Where updates are late what rank 1 wants arrives a step later; then the run goes on as if never stopped.
TEST(DataParallel, EndsAllWorkersWithTheSameStepWhereUpdatesAreLate) {
  TrainOptions options = data_parallel_options();
  options.steps = 60;
  const std::string hash = train_with(options, 2).results[0].parameter_hash;
  for (const int after : {1, 7, 8, 20}) {
    const TestFolder folder;
    options.out = folder.path().string();
    TrainResult results[2];
    for (const bool resumes : {false, true}) {
      options.resume = resumes;
      const auto body = [&](std::unique_ptr<Transport> transport) {
        const auto rank = static_cast<std::size_t>(transport->rank());
        Team team(std::move(transport), workers(2), true);
        std::atomic<bool> stop = false;
        StopAfter observer(rank == 1 && !resumes ? after : -1, stop);
        results[rank] = train(options, observer, stop, team);
      };
      for (const std::string& error : run_ranks(2, body)) EXPECT_EQ(error, "");
      EXPECT_EQ(results[0].interrupted, !resumes);
      EXPECT_EQ(results[0].steps, results[1].steps);
      if (!resumes) {
        EXPECT_GE(results[0].steps, after);
        EXPECT_LE(results[0].steps, after + 1);
      }
    }
    EXPECT_EQ(results[0].parameter_hash, hash);
  }
}

TEST(DataParallel, EndsAllWorkersWithTheSameStep) {
  TrainOptions options = data_parallel_options();
  options.steps = 1'000'000;
  options.epochs = 1'000'000;
  std::atomic<bool> stop[2] = {false, false};

  StopAfter observer(5, stop[1]);
  TrainObserver nobody;
  TrainResult results[2];
  const auto body = [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    Team team(std::move(transport), workers(2));
    results[rank] =
        train(options, rank == 1 ? static_cast<TrainObserver&>(observer) : nobody, stop[rank], team);
  };
  for (const std::string& error : run_ranks(2, body)) EXPECT_EQ(error, "");
  for (const TrainResult& result : results) {
    EXPECT_TRUE(result.interrupted);
    EXPECT_EQ(result.steps, 5);
  }
}

// What each rank throws when rank 1 has other options.
std::vector<std::string> disagreement(const std::function<void(TrainOptions&)>& change) {
  const std::atomic<bool> stop{false};
  return run_ranks(2, [&](std::unique_ptr<Transport> transport) {
    TrainOptions options = data_parallel_options();
    options.dtype = "f32";  // Workers that agree have weights in common.
    if (transport->rank() == 1) change(options);
    TrainObserver nobody;
    Team team(std::move(transport), workers(2));
    train(options, nobody, stop, team);
  });
}

TEST(DataParallel, RefusesWorkersThatDiffer) {
  const std::string batch = "rank 1 has batch '20' and rank 0 has '21': they must be the same on all ranks";
  for (const std::string& error : disagreement([](TrainOptions& options) { options.batch = 20; }))
    EXPECT_EQ(error, batch);
  for (const std::string& error : disagreement([](TrainOptions& options) { options.seed = 9; }))
    EXPECT_EQ(error, "rank 1 has seed '9' and rank 0 has '1': they must be the same on all ranks");
  for (const std::string& error : disagreement([](TrainOptions& options) { options.bucket = 64; }))
    EXPECT_EQ(error, "rank 1 has bucket '64' and rank 0 has '0': they must be the same on all ranks");
  for (const std::string& error : disagreement([](TrainOptions& options) { options.gradient_norms = true; }))
    EXPECT_EQ(error,
              "rank 1 has gradient norms 'true' and rank 0 has 'false': they must be the same on all ranks");
}

TEST(DataParallel, FailsOnAllWorkersWhereOneCannotStart) {
  const auto errors = disagreement([](TrainOptions& options) { options.model = "nonsense"; });
  EXPECT_NE(errors[1].find("nonsense"), std::string::npos);
  EXPECT_EQ(errors[0], "rank 1: " + errors[1]);
}

TEST(DataParallel, RefusesSumsThatContradictTheirOrder) {
  const auto both = [](TrainOptions& options) {
    options.algorithm = "ring";
    options.reduce_order = "rank";
  };
  EXPECT_EQ(disagreement(both)[1], "algorithm ring does not add up in rank order; use --reduce-order any");
}

}  // namespace
}  // namespace hocket
