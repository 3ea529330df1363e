#include <sstream>

#include "base/error.h"
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

std::vector<std::string> split_list(const std::string& text) {
  std::vector<std::string> parts;
  std::istringstream stream(text);
  for (std::string part; std::getline(stream, part, ',');) parts.push_back(part);
  return parts;
}

std::vector<int> thread_counts(const Arguments& arguments) {
  const bool is_pair = usable_processors().size() > 1;
  std::vector<int> counts;
  for (const std::string& part : split_list(arguments.text("threads", is_pair ? "1,2" : "1"))) {
    const std::optional<std::int64_t> count = parse_integer(part);
    if (!count || *count < 1 || *count > 1024)
      throw ConfigError("bench step: --threads {} is not a count", part);
    counts.push_back(static_cast<int>(*count));
  }
  return counts;
}

StepBenchOptions step_options(const Arguments& arguments) {
  StepBenchOptions options;
  options.models = split_list(arguments.text("models", "mlp,lenet,resnet20,gpt"));
  options.threads = thread_counts(arguments);
  options.seconds = arguments.real("seconds", options.seconds, 0.001, 1e5);
  options.rounds = static_cast<int>(arguments.integer("rounds", options.rounds, 1, 10000));
  options.peers = arguments.has("peers");
  options.python = arguments.text("python", "/usr/bin/python3");
  return options;
}

int run_profile(const StepBenchOptions& options, std::span<const StepSetup> setups) {
  constexpr int kSteps = 20;
  kernel::set_num_threads(options.threads.front());
  for (const std::string& model : options.models) {
    write_output(profile_text(find_step_setup(setups, model), kSteps) + '\n');
  }
  return kDone;
}

int run_step(const Arguments& arguments) {
  const StepBenchOptions options = step_options(arguments);
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
        say(fmt::format("{} {:.0f} {}", row.peer, row.items_per_second.median, row.unit));
        rows.push_back(std::move(row));
      }
    }
  }
  write_output(arguments.has("json") ? rows_as_json(rows) : rows_as_table(rows));
  return kDone;
}

int run_bench(const Arguments& arguments) {
  if (arguments.words().empty()) throw ConfigError("bench: measure what? There is: step");
  if (arguments.words().front() != "step") {
    throw ConfigError("bench: cannot measure {}; there is: step", arguments.words().front());
  }
  return run_step(arguments);
}

}  // namespace

Command bench_command() {
  Command command;
  command.name = "bench";
  command.summary = "measure training steps, beside PyTorch's with --peers";
  command.usages = {"step [options]"};
  command.options = {
      {"models", "LIST", "of mlp,lenet,resnet20,gpt (all of them)"},
      {"threads", "LIST", "numbers of threads to measure (1,2)"},
      {"seconds", "S", "how long to measure each row (7)"},
      {"rounds", "N", "in so many rounds, the peers by turns (7)"},
      {"peers", "", "measure PyTorch in the same rounds"},
      {"python", "FILE", "the Python that has torch (/usr/bin/python3)"},
      {"profile", "", "show where the time of our step goes, node by node"},
  };
  for (Option& option : output_options()) command.options.push_back(std::move(option));
  command.examples = {"hocket bench step --peers", "hocket bench step --models gpt --threads 1 --profile"};
  command.max_words = 1;
  command.run = run_bench;
  return command;
}

}  // namespace hocket
