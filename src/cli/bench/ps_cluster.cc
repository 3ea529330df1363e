#include "cli/bench/ps_cluster.h"

#include <sstream>

#include "base/error.h"
#include "net/job_key.h"
#include "tensor/kernels/threads.h"
#include "train/server_node.h"

namespace hocket {
namespace {

constexpr int kPatienceSeconds = 120;

std::string line_of(PeerProcess& process) {
  const std::optional<std::string> line = process.receive(kPatienceSeconds);
  if (!line) throw Error("bench ps: a worker has failed");
  return *line;
}

}  // namespace

PsCluster::PsCluster(const PsSetup& setup) {
  const TrainOptions options = setup.train_options();
  NodePlace place{kCoordinator, random_key(), local_endpoint(port_.get()), false};
  const auto start = [&](const NodeId& node, const auto& body) {
    place.me = node;
    return std::make_unique<PeerProcess>(usable_processors(), [&] {
      kernel::set_num_threads(1);
      const std::atomic<bool> stop{false};
      body(stop);
    });
  };
  others_.push_back(start(kCoordinator, [&](const auto& stop) { run_coordinator(options, place, stop); }));
  for (int i = 0; i < setup.servers; ++i) {
    others_.push_back(start(server_node(i), [&](const auto& stop) { run_server(options, place, stop); }));
  }
  for (int i = 0; i < setup.workers; ++i) {
    workers_.push_back(start(worker_node(i), [&](const auto&) { run_ps_worker(setup, place); }));
  }
  others_.push_back(start(kRecorder, [&](const auto&) { give_ps_ranges(setup, place); }));
  for (const auto& worker : workers_) line_of(*worker);
}

double PsCluster::steps_per_second(double seconds) {
  double rate = 0;
  for (const auto& worker : workers_) worker->send(fmt::format("{}", seconds));
  for (const auto& worker : workers_) {
    double steps = 0, took = 0;
    std::istringstream(line_of(*worker)) >> steps >> took;
    if (!(took > 0)) throw Error("bench ps: a worker has failed");
    rate += steps / took;
  }
  return rate;
}

}  // namespace hocket
