#include "cli/bench/bench_job.h"

#include <iostream>
#include <utility>

#include "net/coordinator_server.h"
#include "net/job_key.h"

namespace hocket {
namespace {

// Where the ranks find the coordinator.
Environment environment_of(const Endpoint& coordinator, const JobKey& key, int ranks) {
  Environment environment;
  environment.source = Environment::Source::hocket_launch;
  environment.world_size = ranks;
  environment.coordinator_host = coordinator.address;
  environment.coordinator_port = coordinator.port;
  environment.key_hex = to_hex(key);
  return environment;
}

void serve_ranks(int ranks, Listener listener, const JobKey& key) {
  CoordinatorOptions options;
  options.world_size = ranks;
  const CoordinatorServer coordinator(options, std::move(listener), key, log_to_stderr());
  std::cin.get();  // Until the job ends.
}

}  // namespace

BenchJob start_bench_job(int ranks, const WorldOptions& options, const std::function<void(World&)>& body) {
  const JobKey key = random_key();
  Listener listener(listen_at({"127.0.0.1", 0}), key, ListenerOptions{}, log_to_stderr());
  Environment environment = environment_of(listener.endpoint(), key, ranks);
  BenchJob job;
  for (Rank rank = 0; rank < ranks; ++rank) {
    environment.rank = environment.local_rank = rank;
    job.ranks.push_back(std::make_unique<PeerProcess>(usable_processors(), [&] {
      World world(join_job(environment), options);
      body(world);
    }));
  }
  job.coordinator = std::make_unique<PeerProcess>(usable_processors(),
                                                  [&] { serve_ranks(ranks, std::move(listener), key); });
  return job;
}

}  // namespace hocket
