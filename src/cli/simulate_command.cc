#include <algorithm>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/simulate_pipeline.h"
#include "cli/simulate_ps.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "collective/choose.h"
#include "collective/simulate.h"

namespace hocket {
namespace {

using OrderedJson = nlohmann::ordered_json;

constexpr std::int64_t kMaxRanks = 100'000;
constexpr std::size_t kElementBytes = 4;

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<int> rank_counts(const Arguments& arguments) {
  std::vector<int> counts;
  for (const std::string& part : split_list(arguments.text("ranks", "8"))) {
    const std::optional<std::int64_t> count = parse_integer(part);
    if (!count || *count < 1 || *count > kMaxRanks) {
      throw ConfigError("--ranks: expected whole numbers from 1 to {}, found '{}'", kMaxRanks, part);
    }
    counts.push_back(static_cast<int>(*count));
  }
  return counts;
}

std::vector<std::size_t> sizes(const Arguments& arguments) {
  std::vector<std::size_t> result;
  for (const std::string& part : split_list(arguments.text("bytes", "1MiB"))) {
    result.push_back(static_cast<std::size_t>(parse_bytes(part, "--bytes")));
  }
  return result;
}

Collective collective_of(const Arguments& arguments) {
  const std::string name = arguments.text("collective", "all_reduce");
  if (const std::optional<Collective> found = find_collective(name)) return *found;
  std::vector<std::string_view> names;
  for (const Collective collective : all_collectives()) names.push_back(name_of(collective));
  throw ConfigError("--collective: unknown collective {}{}", name, did_you_mean(name, names));
}

// Those named; nothing for `all`.
std::vector<Algorithm> algorithms(const Arguments& arguments) {
  const std::string text = arguments.text("algorithm", "all");
  std::vector<Algorithm> result;
  if (text == "all") return result;
  for (const std::string& name : split_list(text)) {
    const std::optional<Algorithm> found = find_algorithm(name);
    if (!found || *found == Algorithm::automatic) {
      std::vector<std::string_view> names;
      for (const Algorithm algorithm : all_algorithms()) names.push_back(name_of(algorithm));
      throw ConfigError("--algorithm: unknown algorithm {}{}", name, did_you_mean(name, names));
    }
    result.push_back(*found);
  }
  return result;
}

struct Row {
  Algorithm algorithm;
  int ranks;
  std::size_t bytes;
  Simulation simulation;

  std::uint64_t cross_rack_bytes() const { return simulation.bytes[static_cast<std::size_t>(Level::rack)]; }
};

Row replay(const Demand& demand, Algorithm algorithm, const Topology& topology) {
  const Call call = call_of(demand, algorithm, topology);
  if (!supports(call)) {
    throw ConfigError("simulate collective: {} cannot do {} with {} ranks", name_of(algorithm),
                      name_of(demand.collective), call.world);
  }
  const auto schedule = [&](Rank rank) { return schedule_of(call, rank); };
  return {algorithm, call.world, demand.count * kElementBytes, simulate(schedule, topology, kElementBytes)};
}

// All algorithms that can, the quickest first; those that would take too much memory are named and left out.
std::vector<Row> replay_all(const Demand& demand, const Topology& topology) {
  std::vector<Row> rows;
  for (const Algorithm algorithm : all_algorithms()) {
    if (!is_allowed(demand, algorithm, topology)) continue;
    try {
      rows.push_back(replay(demand, algorithm, topology));
    } catch (const ConfigError& error) {
      write_message(fmt::format("{} is left out: {}", name_of(algorithm), error.what()));
    }
  }
  std::stable_sort(rows.begin(), rows.end(),
                   [](const Row& a, const Row& b) { return a.simulation.time() < b.simulation.time(); });
  return rows;
}

std::string rows_as_table(const std::vector<Row>& rows) {
  std::string text =
      fmt::format("{:<20}{:>7}{:>10}{:>12}{:>8}{:>16}{:>18}{:>13}\n", "algorithm", "ranks", "bytes",
                  "predicted", "rounds", "bytes per rank", "cross-rack bytes", "utilisation");
  for (const Row& row : rows) {
    const Simulation& simulation = row.simulation;
    text += fmt::format("{:<20}{:>7}{:>10}{:>12}{:>8}{:>16}{:>18}{:>11.1f} %\n", name_of(row.algorithm),
                        row.ranks, size_text(static_cast<double>(row.bytes)),
                        seconds_text(simulation.time().count()), simulation.rounds, simulation.most_bytes,
                        row.cross_rack_bytes(), 100 * simulation.utilisation());
  }
  return text;
}

std::string rows_as_json(const std::vector<Row>& rows, Collective collective) {
  OrderedJson json = OrderedJson::array();
  for (const Row& row : rows) {
    json.push_back({{"collective", name_of(collective)},
                    {"algorithm", name_of(row.algorithm)},
                    {"ranks", row.ranks},
                    {"bytes", row.bytes},
                    {"predicted_seconds", row.simulation.time().count()},
                    {"rounds", row.simulation.rounds},
                    {"bytes_per_rank", row.simulation.most_bytes},
                    {"total_bytes", row.simulation.bytes[0]},
                    {"cross_rack_bytes", row.cross_rack_bytes()},
                    {"messages", row.simulation.messages},
                    {"utilisation", row.simulation.utilisation()}});
  }
  return json.dump(2) + '\n';
}

int run_collective(const Arguments& arguments) {
  const Collective collective = collective_of(arguments);
  const std::vector<Algorithm> wanted = algorithms(arguments);
  std::vector<Row> rows;
  std::string explanations;
  for (const int ranks : rank_counts(arguments)) {
    const Topology topology = open_topology(arguments.text("topology", "uniform"), ranks);
    for (const std::size_t bytes : sizes(arguments)) {
      const Demand demand{collective, collective == Collective::barrier ? 0 : bytes / kElementBytes};
      if (arguments.has("explain")) {
        explanations += explain(demand, topology, candidates(demand, topology)) + '\n';
        continue;
      }
      if (wanted.empty()) {
        for (Row& row : replay_all(demand, topology)) rows.push_back(std::move(row));
      }
      for (const Algorithm algorithm : wanted) rows.push_back(replay(demand, algorithm, topology));
    }
  }
  if (arguments.has("explain")) {
    write_output(explanations);
  } else {
    write_output(arguments.has("json") ? rows_as_json(rows, collective) : rows_as_table(rows));
  }
  return kDone;
}

int run_topology(const Arguments& arguments) {
  for (const int ranks : rank_counts(arguments)) {
    write_output(to_text(open_topology(arguments.text("topology", "uniform"), ranks)));
  }
  return kDone;
}

int run_simulate(const Arguments& arguments) {
  constexpr std::string_view kWhat[] = {"collective", "topology", "ps", "pipeline"};
  if (arguments.words().empty())
    throw ConfigError("simulate: what? There is: collective, topology, ps, pipeline");
  const std::string& what = arguments.words().front();
  if (what == kWhat[0]) return run_collective(arguments);
  if (what == kWhat[1]) return run_topology(arguments);
  if (what == kWhat[2]) return run_simulate_ps(arguments);
  if (what == kWhat[3]) return run_simulate_pipeline(arguments);
  const std::string hint = did_you_mean(what, kWhat);
  throw ConfigError("simulate: cannot simulate {}{}", what,
                    hint.empty() ? "; there is: collective, topology, ps, pipeline" : hint);
}

}  // namespace

Command simulate_command() {
  Command command;
  command.name = "simulate";
  command.summary =
      "replay a collective on up to 100,000 modelled ranks; break parameter servers under virtual time; draw "
      "a "
      "pipeline's schedule";
  command.usages = {"collective [options]", "topology [options]", "ps [options]", "pipeline [options]"};
  command.options = {
      {"collective", "NAME", "which collective (all_reduce)"},
      {"algorithm", "LIST", "algorithms, or all (all)"},
      {"ranks", "LIST", "numbers of ranks (8)"},
      {"bytes", "LIST", "sizes of the data, as in 64KiB,1MiB (1MiB)"},
      {"topology", "TOPOLOGY", "a file, uniform[:alpha=20us,bandwidth=10Gbit,...] or this (uniform)"},
      {"explain", "", "show what would be chosen, and why"},
  };
  for (Option& option : simulate_ps_options()) command.options.push_back(std::move(option));
  for (Option& option : simulate_pipeline_options()) command.options.push_back(std::move(option));
  for (Option& option : output_options()) {
    if (option.flag != "quiet") command.options.push_back(std::move(option));
  }
  command.examples = {
      "hocket simulate collective --algorithm ring,binomial --ranks 10,100,1000,10000 --bytes 4KiB",
      "hocket simulate collective --ranks 32 --topology racks.toml --explain",
      "hocket simulate topology --ranks 32 --topology racks.toml",
      "hocket simulate ps --seeds 1000 --replicas 3 --sync ps:bsp",
      "hocket simulate pipeline --schedule interleaved --stages 4 --microbatches 8 --chunks 2"};
  command.max_words = 1;
  command.run = run_simulate;
  return command;
}

}  // namespace hocket
