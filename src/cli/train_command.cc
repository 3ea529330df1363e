#include <unistd.h>

#include <chrono>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/cross_validation.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "net/environment.h"
#include "tensor/kernels/isa.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

std::string help_of(const Key& key) {
  const std::string fallback = text_of(key, TrainOptions());
  if (key.placeholder.empty() || fallback.empty() || fallback == "0") return key.help;
  return fmt::format("{} ({})", key.help, fallback == "auto" ? key.automatic : fallback);
}

std::vector<Option> train_options() {
  std::vector<Option> options;
  for (const Key& key : all_keys()) options.push_back({key.flag(), key.placeholder, help_of(key), key.group});
  const std::string group = options.back().group;
  options.push_back({"resume", "DIR",
                     "go on where the run in DIR, or in --out, stopped; its settings hold unless given anew",
                     group, Option::Takes::optional_value});
  for (Option& option : settings_options()) options.push_back(std::move(option));
  for (Option& option : output_options()) options.push_back(std::move(option));
  return options;
}

bool holds_run(const fs::path& folder) {
  const RunFolder names(folder);
  return fs::exists(names.config_file()) || fs::exists(names.metrics_file()) ||
         fs::exists(names.checkpoints());
}

// Everything that a command line says about a run: settings from all their sources, and where it is.
struct Request {
  Settings settings;
  fs::path out;  // Empty: a new folder below runs/.
  bool resumes = false;
};

Settings read_settings(const Arguments& arguments, const fs::path& resumed_config) {
  Settings settings;
  if (!resumed_config.empty() && fs::exists(resumed_config)) settings.read_file(resumed_config);
  if (arguments.has("config")) settings.read_file(arguments.text("config"));
  settings.read_environment(environ);
  settings.read_flags(arguments);
  settings.read_assignments(arguments);
  settings.require_consistent();
  return settings;
}

Request read_request(const Arguments& arguments) {
  Request request{read_settings(arguments, {}), {}, arguments.has("resume")};
  request.out = request.settings.train_options().out;
  if (!request.resumes) {
    if (!request.out.empty() && fs::exists(request.out) && holds_run(request.out)) {
      throw ConfigError("{} holds a run already; go on with it by --resume, or choose another --out",
                        request.out.string());
    }
    return request;
  }
  const std::string folder = arguments.text("resume");
  if (!folder.empty()) {
    if (arguments.has("out"))
      throw ConfigError("--resume {} and --out {}: name one folder", folder, arguments.text("out"));
    if (!fs::is_directory(folder)) throw ConfigError("--resume {}: there is no such folder", folder);
    request.out = folder;
  }
  if (request.out.empty()) throw ConfigError("--resume: which run? Give --resume DIR");
  request.settings = read_settings(arguments, request.out / "config.toml");
  return request;
}

RunFolder make_folder(const Request& request) {
  if (!request.out.empty()) return RunFolder(request.out);
  std::string model = request.settings.train_options().model;
  if (model.starts_with("file:")) model = fs::path(model.substr(5)).filename().string();
  return RunFolder::create("runs", std::chrono::system_clock::now(), model, "allreduce");
}

void remove_if_empty(const fs::path& folder) {
  std::error_code ignored;
  fs::remove(folder, ignored);
}

void warn_of_slow_dtype(const std::string& dtype, Progress& progress) {
  if (dtype == "f64") progress.note("hocket: f64 runs on the reference kernels, which are slow");
  if (dtype != "bf16") return;
  const std::string note = kernel::cpu_report().bf16_note;
  if (!note.empty()) progress.note("hocket: bf16 is slow here: " + note);
}

void print(const std::string& json, const std::string& text, const Arguments& arguments) {
  if (!arguments.has("json")) return write_output(text);
  if (!arguments.has("quiet")) write_raw(text);
  write_output(json);
}

// Several ranks that each train the whole model alone are not what anybody meant.
void require_one_worker() {
  const Environment environment = detect_environment(process_variables());
  if (environment.world_size == 1) return;
  throw ConfigError("train: this is {}, and training uses one worker so far", describe(environment));
}

int run_train(const Arguments& arguments) {
  require_one_worker();
  const Request request = read_request(arguments);
  const TrainOptions options = request.settings.train_options();
  Progress progress(standard_error_terminal(), arguments.has("quiet"));
  StopSignals signals;
  const bool is_new = request.out.empty() || !fs::exists(request.out);
  const RunFolder folder = make_folder(request);
  warn_of_slow_dtype(options.dtype, progress);
  try {
    if (is_cross_validation(request.settings)) {
      const CrossValidation all =
          cross_validate(request.settings, folder, request.resumes, progress, signals.stop());
      print(to_json(all), describe(all), arguments);
      return all.exit_code(signals.exit_code());
    }
    const Run run = execute_run(request.settings, folder, request.resumes, progress, signals.stop());
    print(run_json(run), describe(run), arguments);
    return run.exit_code(signals.exit_code());
  } catch (const Error&) {
    if (is_new) remove_if_empty(folder.path());
    throw;
  }
}

}  // namespace

Command train_command() {
  Command command;
  command.name = "train";
  command.summary = "train a model";
  command.usages = {"[options]"};
  command.options = train_options();
  command.examples = {
      "hocket train --model lenet --data fashion-mnist --epochs 3",
      "hocket train --model resnet20 --data synthetic:cifar10 --lr-schedule cosine --augment flip,shift=4",
      "hocket train --model gpt --data text:book.txt --steps 1500",
      "hocket train --model logreg,c=1 --data libsvm:a9a --test-data libsvm:a9a.t",
      "hocket train --resume runs/20260801-120000-lenet-allreduce",
  };
  command.run = run_train;
  return command;
}

}  // namespace hocket
