#include "cli/compare/optimum.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/error.h"
#include "cli/compare/trial_process.h"
#include "nn/model.h"
#include "tensor/kernels/threads.h"
#include "train/evaluate.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

constexpr std::chrono::milliseconds kOptimumLook{100};
constexpr const char* kIterations = "200";

bool is_smooth(const std::string& model) { return model == "logreg" || model == "linreg"; }

bool is_convex(const TrainOptions& options) {
  const Spec model = parse_model(options.model);
  const bool has_penalty = options.optimizer.weight_decay > 0 ||
                           std::any_of(model.options.begin(), model.options.end(),
                                       [](const auto& option) { return option.first == "c"; });
  return (is_smooth(model.name) || model.name == "svm") && !has_penalty;
}

double training_loss(const Settings& settings, const fs::path& folder) {
  EvalOptions options;
  options.checkpoint = folder;
  options.train = settings.train_options();
  options.on_training_data = true;
  return evaluate_checkpoint(options, [](const std::string&) {}).loss;
}

// The same model and data, and L-BFGS by one worker.
std::vector<std::string> words_of(const Settings& settings, const fs::path& folder) {
  Settings search = settings;
  for (const auto& [name, value] :
       {std::pair("train.sync", "sandblaster"), std::pair("train.workers", "1"),
        std::pair("train.mesh", "auto"), std::pair("train.optimizer", "auto"), std::pair("train.lr", "auto"),
        std::pair("train.steps", kIterations), std::pair("train.eval_every", kIterations),
        std::pair("train.slow", "auto"), std::pair("train.jitter", "0"),
        std::pair("train.emulate_compute", "0"), std::pair("train.emulate_net", "auto")}) {
    search.set(*find_key(name), value, name, "optimum");
  }
  std::vector<std::string> words{"train", "--quiet", "--out", folder.string()};
  for (const std::string& assignment : assignments_of(search)) {
    words.emplace_back("--set");
    words.push_back(assignment);
  }
  return words;
}

bool search(const Settings& settings, const fs::path& folder, const std::atomic<bool>& stop) {
  if (fs::exists(folder / "summary.json")) return true;
  fs::remove_all(folder);
  TrialProcess process(words_of(settings, folder));
  bool is_told = false;
  while (!process.wait(kOptimumLook)) {
    if (stop && !std::exchange(is_told, true)) process.interrupt();
  }
  return process.exit_code() == 0;
}

}  // namespace

void judge_by_optimum(const std::vector<PlannedWay>& ways, const fs::path& out, Comparison& comparison,
                      const std::atomic<bool>& stop) {
  const TrainOptions options = ways.front().settings.train_options();
  if (stop || !is_convex(options)) return;
  kernel::set_num_threads(std::max(1, options.threads));
  const auto consider = [&](double loss) {
    comparison.optimum = std::min(comparison.optimum.value_or(loss), loss);
  };
  const fs::path folder = out / "optimum";
  const bool has_optimum =
      is_smooth(parse_model(options.model).name) && search(ways.front().settings, folder, stop);
  try {
    if (has_optimum) consider(training_loss(ways.front().settings, folder));
    for (std::size_t i = 0; i < ways.size(); ++i) {
      for (TrainTrial& trial : comparison.ways[i].trials) {
        if (trial.status != TrialStatus::done) continue;
        trial.objective = training_loss(ways[i].settings, out / trial.folder);
        consider(*trial.objective);
      }
    }
  } catch (const Error&) {  // Without checkpoints there is nothing to judge.
    comparison.optimum.reset();
  }
}

}  // namespace hocket
