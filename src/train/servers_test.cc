// A whole run with a parameter server, its nodes as threads on loopback connections.
#include <gtest/gtest.h>

#include <atomic>
#include <cmath>
#include <thread>

#include "base/error.h"
#include "data/test_files.h"
#include "net/job_key.h"
#include "train/checkpoint_store.h"
#include "train/server_node.h"
#include "train/server_recorder.h"
#include "train/server_worker.h"
#include "train/test_checkpoint.h"

namespace hocket {
namespace {

TrainOptions servers_options(const std::string& sync) {
  TrainOptions options;
  options.model = "mlp,hidden=8,dropout=0.3";
  options.data = "synthetic:1x6x6:3:64";
  options.batch = 21;
  options.steps = 10;
  options.dtype = "f64";
  options.threads = 1;
  options.sync = sync;
  options.workers = 3;
  options.servers = 2;
  return options;
}

struct ServersOutcome {
  TrainResult result;
  std::vector<NamedTensor> tensors;  // Of the last checkpoint.
};

ServersOutcome last_of(const TestFolder& folder, TrainResult result) {
  Team alone;
  const auto saved = CheckpointStore(folder.path() / "checkpoints", alone).open_newest();
  return {std::move(result), saved ? read_whole(*saved) : std::vector<NamedTensor>()};
}

ServersOutcome train_alone(TrainOptions options) {
  const TestFolder folder;
  options.out = folder.path().string();
  const std::atomic<bool> stop{false};
  TrainObserver nobody;
  Team alone;
  return last_of(folder, train(options, nobody, stop, alone));
}

ServersOutcome train_by_servers(TrainOptions options) {
  const TestFolder folder;
  options.out = folder.path().string();
  NodePlace place;
  place.key = random_key();
  const FileDescriptor port = reserve_port("127.0.0.1");
  place.coordinator = local_endpoint(port.get());
  const auto at = [&](const NodeId& node) {
    NodePlace own = place;
    own.me = node;
    return own;
  };
  std::atomic<bool> stop{false};
  std::vector<std::jthread> nodes;
  nodes.emplace_back([&] { run_coordinator(options, at(kCoordinator), stop); });
  for (int server = 0; server < options.servers; ++server) {
    nodes.emplace_back([&, server] { run_server(options, at(server_node(server)), stop); });
  }
  for (int worker = 0; worker < options.workers; ++worker) {
    nodes.emplace_back([&, worker] { work_for_servers(options, at(worker_node(worker))); });
  }
  TrainObserver nobody;
  const std::atomic<bool> never{false};
  TrainResult result = record_for_servers(options, nobody, never, at(kRecorder));
  stop = true;
  nodes.clear();
  return last_of(folder, std::move(result));
}

TEST(Servers, BspReachesTheParametersOfOneWorker) {
  const ServersOutcome alone = train_alone(servers_options("allreduce"));
  const ServersOutcome by_servers = train_by_servers(servers_options("ps:bsp"));
  EXPECT_LT(largest_difference(alone.tensors, by_servers.tensors), 1e-10);
  EXPECT_EQ(by_servers.result.samples, alone.result.samples);
  EXPECT_EQ(by_servers.result.steps, 10);
  EXPECT_EQ(by_servers.result.gradients.size(), 3U);
}

TEST(Servers, AdamOfServersIsAdam) {
  TrainOptions options = servers_options("ps:bsp");
  options.optimizer.rule = "adamw";
  options.optimizer.weight_decay = 0.1;
  TrainOptions alone = options;
  alone.sync = "allreduce";
  EXPECT_LT(largest_difference(train_alone(alone).tensors, train_by_servers(options).tensors), 1e-10);
}

TEST(Servers, ReplicasChangeNoBit) {
  TrainOptions options = servers_options("ps:bsp");
  const ServersOutcome one = train_by_servers(options);
  options.replicas = 2;
  EXPECT_EQ(train_by_servers(options).result.parameter_hash, one.result.parameter_hash);
}

TEST(Servers, RunsWithRunningStatisticsRepeatBitForBit) {
  TrainOptions options = servers_options("ps:bsp");
  options.model = "resnet,depth=8";
  options.data = "synthetic:3x8x8:3:24";
  options.batch = 6;
  options.steps = 2;
  options.dtype = "f32";
  const ServersOutcome once = train_by_servers(options);
  EXPECT_EQ(train_by_servers(options).result.parameter_hash, once.result.parameter_hash);
}

TEST(Servers, AReplicaThatIsCutIsTheWholeOne) {
  for (const char* sync : {"downpour", "downpour,nfetch=2,npush=2"}) {
    TrainOptions options = servers_options(sync);
    options.workers = 1;
    const ServersOutcome whole = train_by_servers(options);
    options.mesh = "dp=1,tp=2";
    const ServersOutcome cut = train_by_servers(options);
    EXPECT_LT(largest_difference(whole.tensors, cut.tensors), 1e-10) << sync;
    EXPECT_EQ(cut.result.samples, whole.result.samples) << sync;
  }
}

TEST(Servers, AsynchronousDisciplinesComeToAnEnd) {
  for (const char* sync : {"ps:asp", "ps:asp,ahead=1", "ps:ssp,s=2", "ps:ssp,s=2,ahead=1", "ps:kofn,k=2",
                           "ps:softsync,n=3", "ps:softsync,n=3,ahead=1", "downpour,nfetch=2,npush=2"}) {
    const ServersOutcome outcome = train_by_servers(servers_options(sync));
    EXPECT_GE(outcome.result.steps, 10) << sync;
    EXPECT_TRUE(std::isfinite(outcome.result.train_loss)) << sync;
  }
}

TrainOptions sparse_servers_options(const std::string& sync) {
  TrainOptions options = servers_options(sync);
  options.model = "logreg";
  options.data = "synthetic:sparse,samples=500,features=5000,nonzeros=9";
  options.dtype = "f32";
  options.optimizer.rule = "adagrad";
  options.learning_rate = 0.1;
  options.steps = 100;
  return options;
}

TEST(Servers, RowsOfTablesGoWithEveryDisciplineAndASlowWorker) {
  for (const char* sync : {"ps:bsp", "ps:asp", "ps:asp,ahead=1", "ps:ssp,s=2,ahead=1", "ps:kofn,k=2",
                           "ps:softsync,n=3,ahead=1", "downpour,ahead=1"}) {
    TrainOptions options = sparse_servers_options(sync);
    options.emulate_compute = 0.001;
    options.slow = "2=10";
    const ServersOutcome outcome = train_by_servers(options);
    EXPECT_GE(outcome.result.steps, 100) << sync;
    EXPECT_LT(outcome.result.train_loss, 0.5) << sync;
  }
}

// One worker that pulls ahead computes each gradient at the parameters before its last push.
TEST(Servers, WhoPullsAheadIsOneUpdateBehind) {
  TrainOptions options = sparse_servers_options("ps:asp,ahead=1");
  options.workers = 1;
  const ServersOutcome outcome = train_by_servers(options);
  EXPECT_EQ(outcome.result.steps, 100);
  ASSERT_EQ(outcome.result.gradients.size(), 1U);
  EXPECT_GT(outcome.result.gradients[0].mean_staleness, 0.5);
  EXPECT_LT(outcome.result.gradients[0].mean_staleness, 1);
}

}  // namespace
}  // namespace hocket
