#include <algorithm>
#include <chrono>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/cross_validation.h"
#include "cli/exit_code.h"
#include "cli/explain.h"
#include "cli/key_options.h"
#include "cli/nodes/launch_nodes.h"
#include "cli/nodes/roles.h"
#include "cli/plan/measured_stages.h"
#include "cli/run.h"
#include "cli/signals.h"
#include "cli/terminal.h"
#include "cli/workers.h"
#include "net/environment.h"
#include "sync/discipline.h"
#include "tensor/kernels/isa.h"
#include "train/hogwild.h"
#include "train/sandblaster_nodes.h"
#include "train/server_node.h"
#include "train/server_worker.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr int kTaskAttempts = 4;  // MapReduce runs the tasks of a dead worker again without being asked.

std::vector<Option> train_options() {
  std::vector<Option> options = key_options();
  const std::string group = options.back().group;
  options.push_back({"resume", "DIR",
                     "go on where the run in DIR, or in --out, stopped; its settings hold unless given anew",
                     group, Option::Takes::optional_value});
  for (Option& option : explain_options()) options.push_back(std::move(option));
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

// Only the first rank looks whether the folder is free: the others may find it in use by the first.
Request read_request(const Arguments& arguments, bool is_first) {
  Request request{read_settings(arguments, {}), {}, arguments.has("resume")};
  request.out = request.settings.train_options().out;
  if (!request.resumes) {
    if (is_first && !request.out.empty() && fs::exists(request.out) && holds_run(request.out)) {
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
  std::string sync = request.settings.train_options().sync;
  sync = sync.substr(sync.find(':') + 1);
  sync = sync.substr(0, sync.find(','));
  return RunFolder::create("runs", std::chrono::system_clock::now(), model, sync);
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

// The folder that the first rank makes.
RunFolder agree_on_folder(const Request& request, Team& team) {
  std::string path;
  team.attempt([&] {
    if (team.is_first()) path = make_folder(request).path().string();
  });
  return RunFolder(team.gather(path).front());
}

int train_with(Team& team, const Request& request, const Start& start, const Arguments& arguments,
               const StopSignals& signals, const NodePlace* place = nullptr) {
  Progress progress(standard_error_terminal(), arguments.has("quiet") || !team.is_first());
  const bool is_new = request.out.empty() || !fs::exists(request.out);
  const RunFolder folder = agree_on_folder(request, team);
  warn_of_slow_dtype(request.settings.train_options().dtype, progress);
  if (const std::string warning = warning_of_spread(team.mesh(), team.host_of());
      team.is_first() && !warning.empty()) {
    progress.warn("hocket: " + warning);
  }
  try {
    if (is_cross_validation(request.settings)) {
      const CrossValidation all =
          cross_validate(request.settings, folder, start, progress, signals.stop(), team);
      if (!team.is_first()) return kDone;
      print(to_json(all), describe(all), arguments);
      return all.exit_code(signals.exit_code());
    }
    const Run run = execute_run(request.settings, folder, start, progress, signals.stop(), team, place);
    if (!team.is_first()) return kDone;
    print(run_json(run), describe(run), arguments);
    return run.exit_code(signals.exit_code());
  } catch (const Error&) {
    if (is_new && team.is_first()) remove_if_empty(folder.path());
    throw;
  }
}

int run_sandblaster_node(const TrainOptions& options, const NodePlace& place, const std::atomic<bool>& stop) {
  if (place.me.kind == NodeKind::coordinator) {
    run_sandblaster_coordinator(options, place, stop);
  } else if (place.me.kind == NodeKind::server) {
    run_sandblaster_server(options, place, stop);
  } else {
    work_for_sandblaster(options, place, stop);
  }
  return kDone;
}

// Nodes other than the recorder, which alone speaks and writes files.
int run_node(const Request& request, NodePlace place, const Start& start, const Arguments& arguments) {
  const TrainOptions options = with_servers(request.settings.train_options());
  const StopSignals signals(place.me != kRecorder);
  const std::unique_ptr<EmulatedNet> links = links_between_nodes(options);
  if (links) place.emulation = &links->ledger();
  if (is_sandblaster(options) && place.me != kRecorder)
    return run_sandblaster_node(options, place, signals.stop());
  switch (place.me.kind) {
    case NodeKind::coordinator: run_coordinator(options, place, signals.stop()); return kDone;
    case NodeKind::server: run_server(options, place, signals.stop()); return kDone;
    case NodeKind::worker: work_for_servers(options, place); return kDone;
    case NodeKind::recorder: break;
  }
  Team alone;
  return train_with(alone, request, start, arguments, signals, &place);
}

// Workers that may have to start anew must know their folder before they make one, and all of them the same
// stages.
int launch_training(const Request& request, const Arguments& arguments) {
  TrainOptions options = request.settings.train_options();
  if (Discipline::parse(options.sync).kind == DisciplineKind::mapreduce)
    options.restarts = std::max(options.restarts, kTaskAttempts - 1);
  std::vector<std::string> more;
  if (wants_measured_stages(options)) {
    more = {"--stages", measured_stages(options)};
    if (!arguments.has("quiet")) write_message(fmt::format("hocket: measured stages {}", more.back()));
  }
  if (options.restarts == 0 || !request.out.empty()) return launch_workers(options, arguments, more);
  const RunFolder folder = make_folder(request);
  more.insert(more.end(), {"--out", folder.path().string()});
  const int code = launch_workers(options, arguments, more);
  remove_if_empty(folder.path());
  return code;
}

// Starts the nodes of a run with servers, or is one of them.
int train_with_servers(const Request& request, const Environment& environment, const Arguments& arguments) {
  const TrainOptions options = with_servers(request.settings.train_options());
  if (is_node(process_variables())) {
    return run_node(request, place_of_node(environment, options), {request.resumes, environment.restarts},
                    arguments);
  }
  if (environment.source != Environment::Source::alone) {
    throw ConfigError("--sync {} starts its servers and workers itself; this is {}", options.sync,
                      describe(environment));
  }
  const RunFolder folder = make_folder(request);  // Before its nodes look for it.
  const int code = launch_nodes(options, arguments, folder.path().string());
  // A worker's failure ends the recorder before it can say so.
  if ((code == kFailed || code == kPeerFailed) && fs::exists(folder.config_file()))
    leave_failed(folder, options, {request.resumes, 0}, Team());
  remove_if_empty(folder.path());
  return code;
}

int train_with_threads(const Request& request, const Environment& environment, const Arguments& arguments) {
  if (environment.source != Environment::Source::alone) {
    throw ConfigError("--sync {} is for threads of one process; this is {}",
                      request.settings.train_options().sync, describe(environment));
  }
  const StopSignals signals(false);
  Team alone;
  return train_with(alone, request, {request.resumes, 0}, arguments, signals);
}

int run_train(const Arguments& arguments) {
  const Environment environment = detect_environment(process_variables());
  const Request request = read_request(arguments, environment.rank == 0);
  const TrainOptions options = request.settings.train_options();
  if (arguments.has("explain") && has_servers(options)) {
    throw ConfigError("--explain shows what collectives send; --sync {} sends by servers", options.sync);
  }
  if (arguments.has("explain") && Discipline::parse(options.sync).has_peers()) {
    throw ConfigError("--explain shows what a step sends; --sync {} sends between steps", options.sync);
  }
  if (arguments.has("explain") && is_hogwild(options))
    throw ConfigError("--explain shows what collectives send; the threads of --sync {} send nothing",
                      options.sync);
  if (arguments.has("explain")) return explain_run(options, environment, arguments);
  require_explain(arguments);
  if (has_servers(options)) return train_with_servers(request, environment, arguments);
  if (is_hogwild(options)) return train_with_threads(request, environment, arguments);
  if (must_launch(options, environment)) return launch_training(request, arguments);
  if (wants_measured_stages(options)) {
    throw ConfigError(
        "--stages measured: only hocket train that starts a pipeline's workers itself can measure for all of "
        "them; hocket plan prints stages to give here");
  }
  const StopSignals signals(environment.rank > 0);
  Workers workers = join_workers(options, environment);
  try {
    return train_with(workers.team, request, {request.resumes, environment.restarts}, arguments, signals);
  } catch (const FailedElsewhere&) {  // The rank that failed says why, and its exit code counts.
    return kDone;
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
      "hocket train --model lenet --data fashion-mnist --workers 2 --target-accuracy 0.9 --epochs 10",
      "hocket train --model resnet20 --data synthetic:cifar10 --lr-schedule cosine --augment flip,shift=4",
      "hocket train --model gpt --data text:book.txt --steps 1500",
      "hocket train --model gpt --data synthetic:text --mesh dp=2,tp=2 --explain",
      "hocket train --model logreg,c=1 --data libsvm:a9a --test-data libsvm:a9a.t",
      "hocket train --resume runs/20260801-120000-lenet-allreduce",
  };
  command.run = run_train;
  return command;
}

}  // namespace hocket
