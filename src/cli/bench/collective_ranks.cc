#include "cli/bench/collective_ranks.h"

#include <iostream>
#include <memory>
#include <optional>
#include <utility>

#include "base/error.h"
#include "cli/bench/bench_ranks.h"
#include "cli/bench/collective_meter.h"
#include "net/world.h"

namespace hocket {
namespace {

void measure_all(std::unique_ptr<Transport> transport, const CollectiveTask& task, const TakeFigures& take) {
  Group group(std::move(transport));
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
  measure_all(world.open(), here, take);
  return here.transport;
}

std::vector<CollectiveFigures> run_collective_task(const CollectiveTask& task) {
  const auto print = [](const CollectiveFigures& figures) { std::cout << to_line(figures) << std::endl; };
  const auto body = [&](std::unique_ptr<Transport> transport) {
    measure_all(std::move(transport), task, print);
  };
  std::vector<CollectiveFigures> all;
  for (const std::string& line : run_bench_ranks(task.transport, task.ranks, task.cases.size(), body)) {
    std::optional<CollectiveFigures> figures = parse_figures(line);
    if (!figures) throw Error("bench collectives: a rank says: {}", line);
    all.push_back(std::move(*figures));
  }
  return all;
}

}  // namespace hocket
