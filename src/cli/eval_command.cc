#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/exit_code.h"
#include "cli/settings.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "tensor/kernels/threads.h"
#include "train/evaluate.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

fs::path chosen_checkpoint(const Arguments& arguments) {
  const std::string word = arguments.words().empty() ? "" : arguments.words().front();
  const std::string run = arguments.text("run", word);
  const std::string checkpoint = arguments.text("checkpoint");
  if (run.empty() == checkpoint.empty()) throw ConfigError("eval: give either --run DIR or --checkpoint DIR");
  fs::path path = run.empty() ? checkpoint : run;
  if (!fs::is_directory(path)) throw ConfigError("eval: there is no folder {}", path.string());
  return path;
}

// The settings of the run that a checkpoint belongs to: RUN/checkpoints/step-N stands two folders below them.
Settings run_settings(const fs::path& checkpoint, const Arguments& arguments) {
  Settings settings;
  bool is_known = false;
  const fs::path whole = fs::weakly_canonical(checkpoint);
  for (const fs::path& folder : {checkpoint, whole.parent_path(), whole.parent_path().parent_path()}) {
    if (!fs::exists(folder / "config.toml")) continue;
    settings.read_file(folder / "config.toml");
    is_known = true;
    break;
  }
  if (!is_known && !arguments.has("config") && !arguments.has("set")) {
    throw ConfigError("eval: no config.toml with {}; name the model and the data by --config or --set",
                      checkpoint.string());
  }
  if (arguments.has("config")) settings.read_file(arguments.text("config"));
  settings.read_assignments(arguments);
  return settings;
}

EvalOptions eval_options(const Arguments& arguments) {
  EvalOptions options;
  options.checkpoint = chosen_checkpoint(arguments);
  options.train = run_settings(options.checkpoint, arguments).train_options();
  if (arguments.has("data")) {
    options.train.test_data = arguments.text("data");
    options.train.validation = 0;
    options.train.folds = 0;
  }
  options.on_training_data = arguments.has("training-data");
  options.predictions = arguments.text("predict");
  return options;
}

int run_eval(const Arguments& arguments) {
  const EvalOptions options = eval_options(arguments);
  const std::int64_t cores = std::max(1U, std::thread::hardware_concurrency());
  kernel::set_num_threads(static_cast<int>(arguments.integer("threads", cores, 1, 1024)));
  const auto warn = [](const std::string& line) { write_message("hocket: " + line); };
  const Evaluation evaluation = evaluate_checkpoint(options, warn);
  if (arguments.has("json")) {
    nlohmann::ordered_json json{{"model", options.train.model},  {"data", options.train.data},
                                {"samples", evaluation.samples}, {"test_loss", evaluation.loss},
                                {"test_accuracy", nullptr},      {"test_auc", nullptr}};
    if (evaluation.accuracy) json["test_accuracy"] = *evaluation.accuracy;
    if (evaluation.auc) json["test_auc"] = *evaluation.auc;
    write_output(json.dump(2) + '\n');
    return kDone;
  }
  if (evaluation.accuracy)
    write_output(fmt::format("test accuracy  {}\n", percent_text(*evaluation.accuracy)));
  if (evaluation.auc) write_output(fmt::format("test AUC       {:.4f}\n", *evaluation.auc));
  write_output(fmt::format("test loss      {:.4f}\nsamples        {}\n", evaluation.loss,
                           count_text(evaluation.samples)));
  if (!options.predictions.empty())
    write_output(fmt::format("predictions    {}\n", options.predictions.string()));
  return kDone;
}

}  // namespace

Command eval_command() {
  Command command;
  command.name = "eval";
  command.summary = "test accuracy and loss of a checkpoint";
  command.usages = {"--run DIR [options]", "--checkpoint DIR [options]"};
  command.options = {
      {"run", "DIR", "a run folder: its newest whole checkpoint"},
      {"checkpoint", "DIR", "one checkpoint: RUN/checkpoints/step-N"},
      {"data", "DATA", "test on this data instead of the run's own"},
      {"training-data", "", "test on what it was trained on"},
      {"predict", "FILE", "write what the model predicts, a line per sample"},
      {"threads", "N", "threads of the kernels (the cores there are)"},
  };
  for (Option& option : settings_options()) command.options.push_back(std::move(option));
  for (Option& option : output_options()) command.options.push_back(std::move(option));
  command.examples = {"hocket eval --run runs/demo",
                      "hocket eval --run runs/demo --predict predictions.txt --json"};
  command.max_words = 1;
  command.run = run_eval;
  return command;
}

}  // namespace hocket
