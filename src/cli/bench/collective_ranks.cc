#include "cli/bench/collective_ranks.h"

#include <iostream>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "base/error.h"
#include "cli/bench/bench_ranks.h"
#include "cli/bench/collective_meter.h"
#include "cli/terminal.h"
#include "collective/tuner.h"
#include "net/world.h"

namespace hocket {
namespace {

// Lets the group decide for the sizes that `auto` will be measured with. Rank 0 says what was compared.
void tune(Group& group, const CollectiveTask& task, std::span<const int> host_of) {
  Tuner tuner(group, task.emulation ? task.emulation->topology() : measure_topology(group, host_of),
              task.order);
  std::set<std::pair<Collective, std::size_t>> wanted;
  for (const CollectiveCase& each : task.cases) {
    if (each.algorithm == Algorithm::automatic) wanted.emplace(each.collective, each.bytes);
  }
  for (const auto& each : wanted) tuner.tune(each.first, each.second);
  if (group.rank() == 0) write_message(tuner.explanation());
}

void measure_all(std::unique_ptr<Transport> transport, const CollectiveTask& task,
                 std::span<const int> host_of, const TakeFigures& take) {
  GroupOptions options;
  options.flight_folder = ".";
  if (task.emulation) options.group_of = task.emulation->topology().groups();
  Group group(std::move(transport), options);
  if (task.explains && group.size() > 1) tune(group, task, host_of);
  CollectiveMeter meter(group, task);
  for (const CollectiveCase& each : task.cases) {
    if (!can_run(task, each)) continue;
    const CollectiveFigures figures = meter.measure(each);
    if (group.rank() == 0) take(figures);
  }
  group.barrier();  // Nobody leaves while another still measures.
}

}  // namespace

TransportKind measure_as_rank(const CollectiveTask& task, const TakeFigures& take) {
  WorldOptions options;
  options.transport = task.transport;
  World world(join_job(), options);
  CollectiveTask here = task;
  here.transport = world.transport_kind();
  here.ranks = world.job().size();
  measure_all(world.open(), here, world.host_of(), take);
  return here.transport;
}

std::vector<CollectiveFigures> run_collective_task(const CollectiveTask& task) {
  const auto print = [](const CollectiveFigures& figures) { std::cout << to_line(figures) << std::endl; };
  const auto body = [&](std::unique_ptr<Transport> transport) {
    measure_all(std::move(transport), task, std::vector<int>(static_cast<std::size_t>(task.ranks), 0), print);
  };
  std::vector<CollectiveFigures> all;
  for (const std::string& line : run_bench_ranks(task.transport, task.ranks, task.cases.size(), body,
                                                 task.emulation ? &task.emulation->ledger() : nullptr)) {
    std::optional<CollectiveFigures> figures = parse_figures(line);
    if (!figures) throw Error("bench collectives: a rank says: {}", line);
    all.push_back(std::move(*figures));
  }
  return all;
}

}  // namespace hocket
