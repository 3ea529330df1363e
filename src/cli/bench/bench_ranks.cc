#include "cli/bench/bench_ranks.h"

#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "cli/bench/bench_job.h"
#include "net/inproc_connector.h"
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

std::vector<std::string> run_processes(TransportKind transport, int ranks, std::size_t lines,
                                       const Body& body, LinkLedger* emulation) {
  WorldOptions options;
  options.transport = transport;
  options.emulation = emulation;
  const BenchJob job = start_bench_job(ranks, options, [&](World& world) { body(world.open()); });
  return read_lines(*job.ranks.front(), lines);
}

}  // namespace

std::vector<std::string> run_bench_ranks(TransportKind transport, int ranks, std::size_t lines,
                                         const Body& body, LinkLedger* emulation) {
  if (transport != TransportKind::inproc) return run_processes(transport, ranks, lines, body, emulation);
  PeerProcess process(usable_processors(), [&] { run_threads(ranks, body, emulation); });
  return read_lines(process, lines);
}

}  // namespace hocket
