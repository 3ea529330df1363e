#include "cli/simulate_ps.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "ps/simulated_cluster.h"
#include "sync/discipline.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kMostSeeds = 100'000'000;

struct Total {
  std::int64_t seeds = 0;
  SimulationReport sum;  // Of the counts.
  std::vector<double> recoveries;
  std::vector<SimulationReport> failures;

  void add(const SimulationReport& report) {
    ++seeds;
    sum.server_kills += report.server_kills;
    sum.worker_kills += report.worker_kills;
    sum.coordinator_kills += report.coordinator_kills;
    sum.partitions += report.partitions;
    sum.moves += report.moves;
    sum.messages += report.messages;
    sum.lost += report.lost;
    sum.duplicated += report.duplicated;
    sum.acknowledged += report.acknowledged;
    sum.seconds += report.seconds;
    recoveries.insert(recoveries.end(), report.recoveries.begin(), report.recoveries.end());
    if (!report.violations.empty()) failures.push_back(report);
  }

  double recovery(double share) {
    if (recoveries.empty()) return 0;
    const auto rank = static_cast<std::size_t>(share * static_cast<double>(recoveries.size() - 1));
    std::nth_element(recoveries.begin(), recoveries.begin() + static_cast<std::ptrdiff_t>(rank),
                     recoveries.end());
    return recoveries[rank];
  }
};

struct ServersSetup {
  SimulationOptions options;
  Discipline discipline;

  std::string replay(std::uint64_t seed) const {
    return fmt::format(
        "hocket simulate ps --seed {} --seeds 1 --servers {} --workers {} --replicas {} --sync {}", seed,
        options.servers, options.workers, options.replicas, discipline.text());
  }
};

ServersSetup servers_setup(const Arguments& arguments) {
  ServersSetup setup;
  SimulationOptions& options = setup.options;
  options.servers = static_cast<int>(arguments.integer("servers", 3, 1, 64));
  options.workers = static_cast<int>(arguments.integer("workers", 3, 1, 256));
  options.replicas = static_cast<int>(arguments.integer("replicas", 2, 1, 8));
  options.ranges = options.servers;
  if (options.replicas > options.servers) {
    throw ConfigError("simulate ps: {} replicas need as many servers, there are {}", options.replicas,
                      options.servers);
  }
  setup.discipline = Discipline::parse(arguments.text("sync", "ps:asp"));
  const DisciplineKind kind = setup.discipline.kind;
  if (kind == DisciplineKind::allreduce || kind == DisciplineKind::sandblaster ||
      kind == DisciplineKind::hogwild)
    throw ConfigError("simulate ps: {} has no servers that gradients are pushed to", setup.discipline.text());
  options.make_consistency = make_consistency(setup.discipline, options.workers);
  options.worker = worker_options(setup.discipline, options.worker);
  return setup;
}

std::string as_text(Total& total, const ServersSetup& setup) {
  const SimulationReport& sum = total.sum;
  std::string text;
  for (const SimulationReport& failure : total.failures) {
    for (const std::string& violation : failure.violations)
      text += fmt::format("seed {}: {}\n", failure.seed, violation);
    text += fmt::format("  replay: {}\n", setup.replay(failure.seed));
  }
  text += fmt::format(
      "{} seeds of {} with {} servers, --replicas {}, {} workers: {}\n", total.seeds, setup.discipline.text(),
      setup.options.servers, setup.options.replicas, setup.options.workers,
      total.failures.empty() ? "nothing violated" : fmt::format("{} violated", total.failures.size()));
  text += fmt::format("  kills       {} of servers, {} of workers, {} of the coordinator\n", sum.server_kills,
                      sum.worker_kills, sum.coordinator_kills);
  text += fmt::format("  partitions  {}; servers that joined or left: {}\n", sum.partitions, sum.moves);
  text += fmt::format("  messages    {}, of which {} lost and {} duplicated\n", sum.messages, sum.lost,
                      sum.duplicated);
  text += fmt::format("  gradients   {} acknowledged in {:.0f} s of virtual time\n", sum.acknowledged,
                      sum.seconds);
  text += fmt::format("  recovery    {:.2f} s at the median, {:.2f} s at p95, of {} ranges after a kill\n",
                      total.recovery(0.5), total.recovery(0.95), total.recoveries.size());
  return text;
}

std::string as_json(Total& total, const ServersSetup& setup) {
  const SimulationReport& sum = total.sum;
  OrderedJson violations = OrderedJson::array();
  for (const SimulationReport& failure : total.failures)
    violations.push_back(
        {{"seed", failure.seed}, {"what", failure.violations}, {"replay", setup.replay(failure.seed)}});
  const OrderedJson json = {{"seeds", total.seeds},
                            {"sync", setup.discipline.text()},
                            {"servers", setup.options.servers},
                            {"replicas", setup.options.replicas},
                            {"workers", setup.options.workers},
                            {"server_kills", sum.server_kills},
                            {"worker_kills", sum.worker_kills},
                            {"coordinator_kills", sum.coordinator_kills},
                            {"partitions", sum.partitions},
                            {"moves", sum.moves},
                            {"messages", sum.messages},
                            {"lost_messages", sum.lost},
                            {"duplicate_messages", sum.duplicated},
                            {"acknowledged", sum.acknowledged},
                            {"virtual_seconds", sum.seconds},
                            {"recovery_p50_seconds", total.recovery(0.5)},
                            {"recovery_p95_seconds", total.recovery(0.95)},
                            {"violations", violations}};
  return json.dump(2) + '\n';
}

}  // namespace

int run_simulate_ps(const Arguments& arguments) {
  ServersSetup setup = servers_setup(arguments);
  const std::int64_t first = arguments.integer("seed", 1, 0, kMostSeeds);
  const std::int64_t seeds = arguments.integer("seeds", 100, 1, kMostSeeds);
  Total total;
  for (std::int64_t seed = first; seed < first + seeds; ++seed) {
    setup.options.seed = static_cast<std::uint64_t>(seed);
    total.add(simulate_ps(setup.options));
  }
  write_output(arguments.has("json") ? as_json(total, setup) : as_text(total, setup));
  return total.failures.empty() ? kDone : kFailed;
}

std::vector<Option> simulate_ps_options() {
  return {
      {"seeds", "N", "ps: how many clusters to run (100)"},
      {"seed", "N", "ps: the first one's (1); the same seed gives the same faults"},
      {"servers", "N", "ps: servers (3)"},
      {"workers", "N", "ps: workers (3)"},
      {"replicas", "N", "ps: replicas of each range (2); with 1 no server is killed"},
      {"sync", "DISCIPLINE", "ps: as for train (ps:asp)"},
  };
}

}  // namespace hocket
