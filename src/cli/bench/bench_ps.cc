#include "cli/bench/bench_ps.h"

#include <algorithm>
#include <iostream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "cli/bench/bench_job.h"
#include "cli/bench/collective_table.h"
#include "cli/bench/lists.h"
#include "cli/bench/ping_pong.h"
#include "cli/bench/ps_cluster.h"
#include "cli/bench/statistics.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"

namespace hocket {
namespace {

constexpr std::size_t kSparseBytes = std::size_t{1} << 20;
constexpr std::size_t kMostMessageBytes = std::size_t{1} << 20;  // Longer ones do not stay in a cache.
constexpr int kPatienceSeconds = 120;

struct PsRow {
  PsSetup setup;
  std::vector<double> samples;  // Gigabytes per second of each round,
  std::vector<double> limits;   // and of the transport right before it.

  Spread gigabytes() const { return spread_of(samples); }
  double limit() const { return spread_of(limits).median; }
  double keys_per_second() const {
    const auto keys = static_cast<double>(setup.keys()), bytes = static_cast<double>(setup.bytes_moved());
    return gigabytes().median * 1e9 / bytes * keys;
  }
  double share() const {
    std::vector<double> shares;
    shares.reserve(samples.size());
    for (std::size_t i = 0; i < samples.size(); ++i) shares.push_back(samples[i] / limits[i]);
    return spread_of(std::move(shares)).median;
  }
};

// Two ranks, on a processor each, that send messages over shared memory whenever they are asked.
class TransportPair {
 public:
  explicit TransportPair(std::size_t bytes) : bytes_(bytes) {
    WorldOptions options;
    options.transport = TransportKind::shm;
    job_ = start_bench_job(2, options, [&](World& world) { serve(*world.open()); });
  }

  double gigabytes_per_second(double seconds) const {
    for (const auto& rank : job_.ranks) rank->send(fmt::format("{}", seconds));
    const std::optional<std::string> line = job_.ranks.front()->receive(kPatienceSeconds);
    if (!line) throw Error("bench ps: the ranks of the transport have failed");
    return std::stod(*line);
  }

 private:
  void serve(Transport& transport) const {
    const std::vector<int> processors = usable_processors();
    pin_to({processors[static_cast<std::size_t>(transport.rank()) % processors.size()]});
    PingPong ping_pong(transport);
    std::vector<std::byte> buffer(bytes_);
    LoopBudget budget;
    while (std::cin >> budget.seconds) {
      const double round_trip = spread_of(ping_pong.measure(buffer, budget)).median;
      if (transport.rank() != 0) continue;
      std::cout << 2e-9 * static_cast<double>(bytes_) / round_trip << std::endl;
    }
  }

  std::size_t bytes_;
  BenchJob job_;
};

PsRow measure(const PsSetup& setup, int rounds, double seconds) {
  PsRow row{setup, {}, {}};
  const TransportPair transport(std::min(setup.bytes, kMostMessageBytes));
  PsCluster cluster(setup);
  const double window = seconds / rounds;
  cluster.steps_per_second(window / 4);  // Warms up.
  for (int round = 0; round < rounds; ++round) {
    row.limits.push_back(transport.gigabytes_per_second(window / 2));
    row.samples.push_back(1e-9 * static_cast<double>(setup.bytes_moved()) * cluster.steps_per_second(window));
  }
  return row;
}

std::vector<PsSetup> setups_of(const Arguments& arguments) {
  std::vector<PsSetup> setups;
  PsSetup setup;
  setup.workers = static_cast<int>(arguments.integer("workers", setup.workers, 1, 64));
  const auto add_all = [&](PsKind kind, std::size_t bytes) {
    for (const int servers : counts_of(arguments, "servers", "1,2", 64)) {
      for (const int replicas : counts_of(arguments, "replicas", "1,2", 64)) {
        if (replicas > servers) continue;
        setups.push_back({kind, bytes, setup.workers, servers, replicas});
      }
    }
  };
  for (const std::size_t bytes : sizes_of(arguments, "1MiB,16MiB")) {
    if (bytes < 64) throw ConfigError("bench ps: --bytes {} is too little to share among servers", bytes);
    add_all(PsKind::dense, bytes);
  }
  add_all(PsKind::sparse, kSparseBytes);
  if (setups.empty()) throw ConfigError("bench ps: each range needs as many servers as it has replicas");
  return setups;
}

std::string as_json(const std::vector<PsRow>& rows) {
  nlohmann::ordered_json json = nlohmann::ordered_json::array();
  for (const PsRow& row : rows) {
    const Spread spread = row.gigabytes();
    json.push_back({{"kind", name_of(row.setup.kind)},
                    {"bytes", row.setup.bytes},
                    {"workers", row.setup.workers},
                    {"servers", row.setup.servers},
                    {"replicas", row.setup.replicas},
                    {"keys_per_second", row.keys_per_second()},
                    {"gigabytes_per_second", spread.median},
                    {"p10", spread.p10},
                    {"p90", spread.p90},
                    {"transport_limit", row.limit()},
                    {"share_of_limit", row.share()},
                    {"samples", row.samples}});
  }
  return json.dump(2) + '\n';
}

std::string as_table(const std::vector<PsRow>& rows) {
  std::string text =
      fmt::format("{:<8}{:<9}{:>8}{:>9}{:>10}{:>11}{:>8}{:>8}{:>8}{:>11}{:>8}\n", "kind", "bytes", "workers",
                  "servers", "replicas", "Mkeys/s", "GB/s", "p10", "p90", "transport", "share");
  for (const PsRow& row : rows) {
    const Spread spread = row.gigabytes();
    text += fmt::format("{:<8}{:<9}{:>8}{:>9}{:>10}{:>11.1f}{:>8.2f}{:>8.2f}{:>8.2f}{:>11.2f}{:>6.0f} %\n",
                        name_of(row.setup.kind), size_text(row.setup.bytes), row.setup.workers,
                        row.setup.servers, row.setup.replicas, 1e-6 * row.keys_per_second(), spread.median,
                        spread.p10, spread.p90, row.limit(), 100 * row.share());
  }
  return text;
}

}  // namespace

int run_ps_bench(const Arguments& arguments) {
  const auto rounds = static_cast<int>(arguments.integer("rounds", 5, 1, 10000));
  const double seconds = arguments.real("seconds", 2, 0.001, 1e5);
  std::vector<PsRow> rows;
  for (const PsSetup& setup : setups_of(arguments)) rows.push_back(measure(setup, rounds, seconds));
  write_output(arguments.has("json") ? as_json(rows) : as_table(rows));
  return kDone;
}

std::vector<Option> ps_bench_options() {
  std::vector<Option> options = {
      {"servers", "LIST", "numbers of servers (1,2)"},
      {"replicas", "LIST", "servers that hold each range, where there are so many (1,2)"},
  };
  for (Option& option : options) option.group = "of ps (also --workers, --bytes)";
  return options;
}

}  // namespace hocket
