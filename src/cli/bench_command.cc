#include <iostream>

#include "base/error.h"
#include "cli/bench/bench_collectives.h"
#include "cli/bench/bench_ps.h"
#include "cli/bench/bench_transport.h"
#include "cli/bench/lists.h"
#include "cli/bench/peer_process.h"
#include "cli/bench/step_profile.h"
#include "cli/bench/step_rounds.h"
#include "cli/bench/step_table.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"
#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

TransportKind step_transport(const Arguments& arguments) {
  const std::string name = arguments.text("transport", "shm");
  const std::optional<TransportKind> kind = find_transport_kind(name);
  if (kind == TransportKind::shm || kind == TransportKind::tcp) return *kind;
  throw ConfigError("bench step: workers cannot talk by --transport {}; there is: shm tcp", name);
}

StepBenchOptions step_setting(const Arguments& arguments) {
  StepBenchOptions options;
  options.models = split_list(arguments.text("models", "mlp,lenet,resnet20,gpt"));
  const auto processors = static_cast<int>(usable_processors().size());
  options.workers = static_cast<int>(arguments.integer("workers", options.workers, 1, processors));
  const std::string alone = processors > 1 ? "1,2" : "1";
  options.threads = counts_of(
      arguments, "threads", options.workers > 1 ? std::to_string(processors / options.workers) : alone, 1024);
  options.transport = step_transport(arguments);
  options.seconds = arguments.real("seconds", options.seconds, 0.001, 1e5);
  options.rounds = static_cast<int>(arguments.integer("rounds", options.rounds, 1, 10000));
  options.peers = arguments.has("peers");
  options.python = arguments.text("python", "/usr/bin/python3");
  return options;
}

constexpr int kProfiledSteps = 20;
constexpr int kProfileSeconds = 300;  // At most.

// Of one worker, or of rank 0 of several.
std::string profile_of(const StepSetup& setup, const StepBenchOptions& options) {
  const int threads = options.threads.front();
  if (options.workers == 1) {
    kernel::set_num_threads(threads);
    StepLoop loop(setup);
    return profile_text(loop, setup, kProfiledSteps);
  }
  const auto profile = [&](Rank rank, StepLoop& loop) {
    const std::string text = profile_text(loop, setup, kProfiledSteps);
    if (rank == 0) std::cout << text;
  };
  const BenchJob job = start_step_job(setup, options.workers, threads, options.transport, profile);
  std::string text;
  while (const auto line = job.ranks.front()->receive(kProfileSeconds)) text += *line + '\n';
  return text;
}

int run_profile(const StepBenchOptions& options, std::span<const StepSetup> setups) {
  for (const std::string& model : options.models) {
    write_output(profile_of(find_step_setup(setups, model), options) + '\n');
  }
  return kDone;
}

int run_step(const Arguments& arguments) {
  const StepBenchOptions options = step_setting(arguments);
  const std::vector<StepSetup> setups = step_setups();
  for (const std::string& model : options.models) find_step_setup(setups, model);
  if (arguments.has("profile")) return run_profile(options, setups);

  std::vector<StepRow> rows;
  for (const std::string& model : options.models) {
    for (const int threads : options.threads) {
      const auto say = [&](const std::string& remark) {
        if (!arguments.has("quiet")) write_message(fmt::format("{}, {} threads: {}", model, threads, remark));
      };
      for (StepRow& row : measure_step(find_step_setup(setups, model), threads, options, say)) {
        const std::string together = row.workers > 1 ? fmt::format(", {} workers", row.workers) : "";
        say(fmt::format("{}{}: {:.0f} {}", row.peer, together, row.items_per_second.median, row.unit));
        rows.push_back(std::move(row));
      }
    }
  }
  write_output(arguments.has("json") ? rows_as_json(rows) : rows_as_table(rows));
  return kDone;
}

int run_bench(const Arguments& arguments) {
  if (arguments.words().empty())
    throw ConfigError("bench: measure what? There is: collectives, ps, step, transport");
  const std::string& what = arguments.words().front();
  if (what == "step") return run_step(arguments);
  if (what == "collectives") return run_collectives_bench(arguments);
  if (what == "ps") return run_ps_bench(arguments);
  if (what == "transport") return run_transport_bench(arguments);
  throw ConfigError("bench: cannot measure {}; there is: collectives, ps, step, transport", what);
}

std::vector<Option> step_options() {
  std::vector<Option> options = {
      {"models", "LIST", "of mlp,lenet,resnet20,gpt (all of them)"},
      {"workers", "N", "beside one worker, N processes that train together, a batch each (1; ps: 2)"},
      {"threads", "LIST", "numbers of threads to measure, of each worker (1,2; with workers: their share)"},
      {"python", "FILE", "the Python that has torch (/usr/bin/python3)"},
      {"profile", "", "show where the time of our step goes, node by node"},
  };
  for (Option& option : options) option.group = "of step";
  return options;
}

}  // namespace

Command bench_command() {
  Command command;
  command.name = "bench";
  command.summary =
      "measure collectives, training steps, parameter servers or transports, beside the peers' with --peers";
  command.usages = {"collectives [options]", "ps [options]", "step [options]", "transport [options]"};
  command.options = {
      {"seconds", "S", "how long to measure each row (1; step: 7; ps: 2; transport: 0.3)"},
      {"rounds", "N", "in so many rounds, the peers by turns (5; step: 7)"},
      {"peers", "", "measure Gloo and Open MPI, or PyTorch (and its DDP), in the same rounds"},
  };
  for (Option& option : collectives_bench_options()) command.options.push_back(std::move(option));
  for (Option& option : step_options()) command.options.push_back(std::move(option));
  for (Option& option : ps_bench_options()) command.options.push_back(std::move(option));
  for (Option& option : output_options()) command.options.push_back(std::move(option));
  command.examples = {"hocket bench collectives --peers", "hocket bench collectives --show ring --ranks 4",
                      "hocket bench step --workers 2 --peers", "hocket bench ps --bytes 16MiB --servers 1",
                      "hocket bench step --models gpt --threads 1 --profile"};
  command.max_words = 1;
  command.run = run_bench;
  return command;
}

}  // namespace hocket
