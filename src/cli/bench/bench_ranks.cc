#include "cli/bench/bench_ranks.h"

#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "cli/bench/peer_process.h"
#include "net/coordinator_server.h"
#include "net/inproc_connector.h"
#include "net/job_key.h"
#include "net/stream_transport.h"

namespace hocket {
namespace {

constexpr int kTimeoutSeconds = 120;

using Body = std::function<void(std::unique_ptr<Transport>)>;

void run_rank_thread(InprocHub& hub, Health& health, Rank rank, int ranks, const Body& body,
                     LinkLedger* emulation) {
  try {
    InprocConnector connector(hub, rank);
    TransportOptions options;
    options.crowded = ranks > usable_cores();
    options.emulation = emulation;
    std::vector<Rank> members(static_cast<std::size_t>(ranks));
    std::iota(members.begin(), members.end(), 0);
    body(std::make_unique<StreamTransport>(connector, 0, std::move(members), rank, health, options));
  } catch (const std::exception& error) {
    health.report({rank, error.what()});
  }
}

void run_threads(int ranks, const Body& body, LinkLedger* emulation) {
  InprocHub hub;
  Health health;
  std::vector<std::jthread> threads;
  threads.reserve(static_cast<std::size_t>(ranks));
  for (Rank rank = 0; rank < ranks; ++rank) {
    threads.emplace_back([&, rank] { run_rank_thread(hub, health, rank, ranks, body, emulation); });
  }
  threads.clear();
  if (health.failed()) throw Error("{}", health.failure().what);
}

std::vector<std::string> read_lines(PeerProcess& process, std::size_t count) {
  std::vector<std::string> lines;
  while (lines.size() < count) {
    std::optional<std::string> line = process.receive(kTimeoutSeconds);
    if (!line) throw Error("bench: the ranks that are measured have failed");
    lines.push_back(std::move(*line));
  }
  process.receive(kTimeoutSeconds);  // It ends.
  return lines;
}

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

// The ranks meet at a coordinator of this process, whose thread starts after they have been forked.
std::vector<std::string> run_processes(TransportKind transport, int ranks, std::size_t lines,
                                       const Body& body, LinkLedger* emulation) {
  const JobKey key = random_key();
  Listener listener(listen_at({"127.0.0.1", 0}), key, ListenerOptions{}, log_to_stderr());
  Environment environment = environment_of(listener.endpoint(), key, ranks);
  std::vector<std::unique_ptr<PeerProcess>> processes;
  for (Rank rank = 0; rank < ranks; ++rank) {
    environment.rank = environment.local_rank = rank;
    processes.push_back(std::make_unique<PeerProcess>(usable_processors(), [&] {
      WorldOptions options;
      options.transport = transport;
      options.emulation = emulation;
      World world(join_job(environment), options);
      body(world.open());
    }));
  }
  CoordinatorOptions options;
  options.world_size = ranks;
  const CoordinatorServer coordinator(options, std::move(listener), key, log_to_stderr());
  return read_lines(*processes.front(), lines);
}

}  // namespace

std::vector<std::string> run_bench_ranks(TransportKind transport, int ranks, std::size_t lines,
                                         const Body& body, LinkLedger* emulation) {
  if (transport != TransportKind::inproc) return run_processes(transport, ranks, lines, body, emulation);
  PeerProcess process(usable_processors(), [&] { run_threads(ranks, body, emulation); });
  return read_lines(process, lines);
}

}  // namespace hocket
