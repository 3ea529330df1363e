#include "cli/bench/bench_collectives.h"

#include <algorithm>
#include <filesystem>

#include "base/error.h"
#include "cli/bench/collective_ranks.h"
#include "cli/bench/collective_rounds.h"
#include "cli/bench/collective_table.h"
#include "cli/bench/lists.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "collective/show.h"
#include "net/environment.h"

namespace hocket {
namespace {

constexpr int kMostRanks = 64;  // Of processes on this machine; more are for `hocket simulate`.

// What `names` stand for. Throws ConfigError that lists what there is.
template <typename Kind, typename Find>
std::vector<Kind> find_all(const std::vector<std::string>& names, std::span<const Kind> all,
                           std::string_view flag, const Find& find) {
  std::vector<Kind> found;
  for (const std::string& name : names) {
    if (name == "all") {
      found.insert(found.end(), all.begin(), all.end());
    } else if (const std::optional<Kind> kind = find(name)) {
      found.push_back(*kind);
    } else {
      std::string known;
      for (const Kind each : all) known += fmt::format(" {}", name_of(each));
      throw ConfigError("bench collectives: --{} {} is not known; there is: all{}", flag, name, known);
    }
  }
  return found;
}

std::optional<Algorithm> find_algorithm_or_auto(std::string_view name) {
  return name == "auto" ? Algorithm::automatic : find_algorithm(name);
}

std::vector<TransportKind> transports_of(const Arguments& arguments, bool in_job) {
  std::vector<TransportKind> transports;
  for (const std::string& name : split_list(arguments.text("transport", in_job ? "auto" : "shm,tcp"))) {
    const std::optional<TransportKind> kind = find_transport_kind(name);
    const bool is_known =
        kind && (in_job || (kind != TransportKind::automatic && kind != TransportKind::mpi));
    if (!is_known) throw ConfigError("bench collectives: --transport {} cannot be measured here", name);
    transports.push_back(*kind);
  }
  return transports;
}

CollectiveBenchOptions options_of(const Arguments& arguments, bool in_job) {
  CollectiveBenchOptions options;
  options.collectives = find_all(split_list(arguments.text("collective", "all_reduce")), all_collectives(),
                                 "collective", [](std::string_view name) { return find_collective(name); });
  options.algorithms = find_all(split_list(arguments.text("algorithms", "auto")), all_algorithms(),
                                "algorithms", find_algorithm_or_auto);
  options.transports = transports_of(arguments, in_job);
  options.ranks = counts_of(arguments, "ranks", "2,4,8", kMostRanks);
  options.bytes = sizes_of(arguments, "4,1KiB,64KiB,1MiB,16MiB");
  const std::optional<DType> dtype = find_dtype(arguments.text("dtype", "f32"));
  if (!dtype) throw ConfigError("bench collectives: --dtype {} is not known", arguments.text("dtype"));
  options.dtype = *dtype;
  options.is_private = arguments.has("private");
  options.seconds = arguments.real("seconds", options.seconds, 0.0001, 1e5);
  options.rounds = static_cast<int>(arguments.integer("rounds", options.rounds, 1, 10000));
  options.peers = arguments.has("peers");
  options.explains = arguments.has("explain");
  options.emulated_net = arguments.text("emulate-net");
  if (!options.emulated_net.empty() && (options.peers || in_job))
    throw ConfigError(
        "bench collectives: --emulate-net delays ranks that the bench starts itself, and no peers");
  if (options.explains) options.rounds = 1;
  const std::string order = arguments.text("reduce-order", "any");
  if (order != "any" && order != "rank")
    throw ConfigError("bench collectives: --reduce-order {} is not rank or any", order);
  options.order = order == "rank" ? ReduceOrder::rank : ReduceOrder::any;
  options.peer_programs = std::filesystem::read_symlink("/proc/self/exe").parent_path() / "bench";
  if (options.peers && options.dtype != DType::f32)
    throw ConfigError("bench collectives: the peers are measured with f32, not with {}", name_of(*dtype));
  return options;
}

// A vector of one element a chunk, unless sizes are asked for.
int show_schedule(const Arguments& arguments, const CollectiveBenchOptions& options) {
  const std::string name = arguments.text("show");
  const std::vector<Algorithm> algorithms =
      find_all({name}, all_algorithms(), "show", [](std::string_view each) { return find_algorithm(each); });
  for (const int ranks : options.ranks) {
    for (const Algorithm algorithm : algorithms) {
      const auto count = arguments.has("bytes") ? options.bytes.front() / size_of(options.dtype)
                                                : static_cast<std::size_t>(ranks);
      const Call call{options.collectives.front(), algorithm, ranks, count};
      if (!supports(call)) {
        throw ConfigError("bench collectives: {} cannot carry out {} with {} ranks", name,
                          name_of(call.collective), ranks);
      }
      write_output(show(call));
    }
  }
  return kDone;
}

void print_rows(const Arguments& arguments, std::span<const CollectiveRow> rows) {
  if (rows.empty()) throw ConfigError("bench collectives: none of these algorithms can run here");
  write_output(arguments.has("json") ? rows_as_json(rows) : rows_as_table(rows));
}

// One of the ranks that somebody else has started; rank 0 prints.
int run_in_job(const Arguments& arguments, const CollectiveBenchOptions& options,
               const Environment& environment) {
  const int ranks = environment.world_size;
  if (arguments.has("ranks") && options.ranks != std::vector{ranks})
    throw ConfigError("bench collectives: --ranks {}, but this job has {}", arguments.text("ranks"), ranks);
  if (options.peers || options.transports.size() != 1)
    throw ConfigError("bench collectives: ranks that have been started measure one transport, without peers");
  CollectiveTask task = collective_task(options, options.transports.front(), ranks);
  task.budget.seconds = options.seconds;
  std::vector<CollectiveRow> rows;
  const TransportKind transport = measure_as_rank(task, [&](const CollectiveFigures& figures) {
    rows.push_back({"hocket",
                    figures.collective,
                    figures.algorithm,
                    "",
                    ranks,
                    figures.bytes,
                    figures.us,
                    figures.counts,
                    {figures.us.median}});
  });
  for (CollectiveRow& row : rows) row.transport = name_of(transport);
  if (environment.rank == 0) print_rows(arguments, rows);
  return kDone;
}

}  // namespace

int run_collectives_bench(const Arguments& arguments) {
  const Environment environment = detect_environment(process_variables());
  const bool in_job = environment.source != Environment::Source::alone;
  const CollectiveBenchOptions options = options_of(arguments, in_job);
  if (arguments.has("show")) return show_schedule(arguments, options);
  if (in_job) return run_in_job(arguments, options, environment);

  std::vector<CollectiveRow> rows;
  for (const int ranks : options.ranks) {
    const auto say = [&](const std::string& remark) {
      if (!arguments.has("quiet")) write_message(fmt::format("{} ranks: {}", ranks, remark));
    };
    for (CollectiveRow& row : measure_collectives(options, ranks, say)) rows.push_back(std::move(row));
  }
  print_rows(arguments, rows);
  return kDone;
}

std::vector<Option> collectives_bench_options() {
  std::vector<Option> options = {
      {"collective", "LIST", "collectives to measure, or all (all_reduce)"},
      {"algorithms", "LIST", "algorithms to measure, or all; auto is what a job would take (auto)"},
      {"ranks", "LIST", "numbers of ranks (2,4,8)"},
      {"bytes", "LIST", "sizes of the vector, or of the message (4,1KiB,64KiB,1MiB,16MiB)"},
      {"transport", "LIST",
       "of shm,tcp,inproc (shm,tcp; transport: all; step: shm); under mpirun one, also mpi"},
      {"dtype", "TYPE", "of the elements (f32)"},
      {"in-place", "", "buffers in shared memory where there is some (the default)"},
      {"private", "", "buffers in private memory, which must be copied"},
      {"emulate-net", "TOPOLOGY",
       "delay messages as these links would (hocket simulate), and compare with the prediction"},
      {"explain", "", "let auto choose as a job does, by measured links and algorithms, and say why"},
      {"reduce-order", "ORDER", "with --explain: rank (sums in rank order alone) or any (any)"},
      {"show", "ALGORITHM", "print its schedule, round by round, and measure nothing"},
  };
  for (Option& option : options) option.group = "of collectives and transport";
  return options;
}

}  // namespace hocket
