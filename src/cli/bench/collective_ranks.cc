#include "cli/bench/collective_ranks.h"

#include <fmt/format.h>

#include <iostream>
#include <memory>
#include <numeric>
#include <optional>
#include <thread>
#include <utility>

#include "base/error.h"
#include "cli/bench/collective_meter.h"
#include "cli/bench/peer_process.h"
#include "net/coordinator_server.h"
#include "net/inproc_connector.h"
#include "net/job_key.h"
#include "net/stream_transport.h"
#include "net/world.h"

namespace hocket {
namespace {

constexpr int kTimeoutSeconds = 120;

using Processes = std::vector<std::unique_ptr<PeerProcess>>;

void measure_all(Group& group, const CollectiveTask& task, const TakeFigures& take) {
  CollectiveMeter meter(group, task);
  for (const CollectiveCase& each : task.cases) {
    if (!can_run(task, each)) continue;
    const CollectiveFigures figures = meter.measure(each);
    if (group.rank() == 0) take(figures);
  }
  group.barrier();  // Nobody leaves while another still measures.
}

void print_line(const CollectiveFigures& figures) { std::cout << to_line(figures) << std::endl; }

void run_rank_thread(InprocHub& hub, Health& health, Rank rank, const CollectiveTask& task) {
  try {
    InprocConnector connector(hub, rank);
    TransportOptions options;
    options.crowded = task.ranks > usable_cores();
    std::vector<Rank> members(static_cast<std::size_t>(task.ranks));
    std::iota(members.begin(), members.end(), 0);
    Group group(std::make_unique<StreamTransport>(connector, 0, std::move(members), rank, health, options));
    measure_all(group, task, print_line);
  } catch (const std::exception& error) {
    health.report({rank, error.what()});
  }
}

void run_threads(const CollectiveTask& task) {
  InprocHub hub;
  Health health;
  std::vector<std::jthread> threads;
  for (Rank rank = 0; rank < task.ranks; ++rank) {
    threads.emplace_back([&, rank] { run_rank_thread(hub, health, rank, task); });
  }
  threads.clear();
  if (health.failed()) throw Error("{}", health.failure().what);
}

// Lines of rank 0, one a case.
std::vector<CollectiveFigures> read_figures(PeerProcess& process, const CollectiveTask& task) {
  std::vector<CollectiveFigures> all;
  while (all.size() < task.cases.size()) {
    const std::optional<std::string> line = process.receive(kTimeoutSeconds);
    std::optional<CollectiveFigures> figures = parse_figures(line.value_or(""));
    if (!figures) {
      throw Error("bench collectives: the ranks failed ({} of them over {})", task.ranks,
                  name_of(task.transport));
    }
    all.push_back(std::move(*figures));
  }
  process.receive(kTimeoutSeconds);  // Rank 0 ends.
  return all;
}

std::vector<CollectiveFigures> run_as_threads(const CollectiveTask& task) {
  PeerProcess process(usable_processors(), [&] { run_threads(task); });
  return read_figures(process, task);
}

// The ranks meet at a coordinator of this process, whose thread starts after they have been forked.
std::vector<CollectiveFigures> run_as_processes(const CollectiveTask& task) {
  const JobKey key = random_key();
  Listener listener(listen_at({"127.0.0.1", 0}), key, ListenerOptions{}, log_to_stderr());
  Environment environment;
  environment.source = Environment::Source::hocket_launch;
  environment.world_size = task.ranks;
  environment.coordinator_host = "127.0.0.1";
  environment.coordinator_port = listener.endpoint().port;
  environment.key_hex = to_hex(key);

  Processes processes;
  for (Rank rank = 0; rank < task.ranks; ++rank) {
    environment.rank = environment.local_rank = rank;
    processes.push_back(std::make_unique<PeerProcess>(
        usable_processors(), [&] { measure_as_rank(task, environment, print_line); }));
  }
  CoordinatorOptions options;
  options.world_size = task.ranks;
  const CoordinatorServer coordinator(options, std::move(listener), key, log_to_stderr());
  return read_figures(*processes.front(), task);
}

}  // namespace

TransportKind measure_as_rank(const CollectiveTask& task, const Environment& environment,
                              const TakeFigures& take) {
  WorldOptions options;
  options.transport = task.transport;
  World world(join_job(environment), options);
  CollectiveTask here = task;
  here.transport = world.transport_kind();
  here.ranks = world.job().size();
  Group group(world.open());
  measure_all(group, here, take);
  return here.transport;
}

std::vector<CollectiveFigures> run_collective_task(const CollectiveTask& task) {
  return task.transport == TransportKind::inproc ? run_as_threads(task) : run_as_processes(task);
}

}  // namespace hocket
