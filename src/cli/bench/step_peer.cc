#include "cli/bench/step_peer.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "base/error.h"
#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

constexpr int kTimeoutSeconds = 300;

}  // namespace

double StepPeer::run(int count) {
  for (const auto& worker : workers) worker->send(std::to_string(count));
  double slowest = 0;
  for (const auto& worker : workers) {
    const std::optional<std::string> answer = worker->receive(kTimeoutSeconds);
    if (!answer) throw Error("bench step: a measured process of {} has ended", name);
    slowest = std::max(slowest, std::stod(*answer));
  }
  return slowest;
}

void StepPeer::calibrate(double round_seconds) {
  run(2);
  const double step_seconds = std::max(run(2) / 2, 1e-9);
  steps = static_cast<int>(std::clamp(std::round(round_seconds / step_seconds), 1.0, 1e6));
}

void StepPeer::end() {
  if (coordinator == nullptr) return;  // Workers that nobody would miss end with their processes.
  for (const auto& worker : workers) worker->send("end");
  for (const auto& worker : workers) worker->receive(kTimeoutSeconds);
}

std::vector<int> processors_of(int worker, int workers, int threads) {
  const std::vector<int> all = usable_processors();
  const auto wanted = static_cast<std::size_t>(workers) * static_cast<std::size_t>(threads);
  if (wanted > all.size()) {
    throw ConfigError("bench step: {} workers with {} threads, but this process may use {} processors",
                      workers, threads, all.size());
  }
  const auto first = all.end() - static_cast<std::ptrdiff_t>(wanted) + worker * threads;
  return {first, first + threads};
}

// A rank is pinned once its transport is open: one that may use one core alone would believe that all ranks
// share it.
BenchJob start_step_job(const StepSetup& setup, int workers, int threads, TransportKind transport,
                        const std::function<void(Rank rank, StepLoop& loop)>& body) {
  WorldOptions options;
  options.transport = transport;
  return start_bench_job(workers, options, [&](World& world) {
    MeshGroups groups(world.open(), Mesh({{"dp", workers}}));
    pin_to(processors_of(groups.rank(), workers, threads));
    kernel::set_num_threads(threads);
    Communicator communicator(groups, false);
    StepLoop loop(setup, &communicator);
    body(groups.rank(), loop);
  });
}

StepPeer start_apart(std::string name, const StepSetup& setup, int workers, int threads) {
  StepPeer peer;
  peer.name = std::move(name);
  for (int worker = 0; worker < workers; ++worker) {
    peer.workers.push_back(std::make_unique<PeerProcess>(processors_of(worker, workers, threads), [&] {
      kernel::set_num_threads(threads);
      StepLoop loop(setup);
      serve_steps([&](int steps) { return loop.run(steps); });
    }));
  }
  return peer;
}

StepPeer start_hocket_workers(const StepSetup& setup, int workers, int threads, TransportKind transport) {
  BenchJob job = start_step_job(setup, workers, threads, transport, [](Rank, StepLoop& loop) {
    serve_steps([&](int steps) { return loop.run(steps); });
  });
  StepPeer peer;
  peer.name = "hocket";
  peer.settings = fmt::format(R"({{"transport": "{}"}})", name_of(transport));
  peer.coordinator = std::move(job.coordinator);
  peer.workers = std::move(job.ranks);
  return peer;
}

}  // namespace hocket
