#include "cli/compare/trials.h"

#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "base/error.h"
#include "cli/compare/trial_process.h"
#include "cli/exit_code.h"
#include "train/file_system.h"
#include "train/trainer.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using OrderedJson = nlohmann::ordered_json;

constexpr std::chrono::milliseconds kTrialLook{100};

// Beside the files of the run: how it ended, seen from outside.
fs::path outcome_file(const fs::path& folder) { return folder / "outcome.json"; }

void write_outcome(const fs::path& folder, const TrainTrial& trial) {
  const OrderedJson json{{"status", name_of(trial.status)}, {"reason", trial.reason}};
  write_file_atomically(posix_file_system(), outcome_file(folder),
                        json.dump(2, ' ', false, OrderedJson::error_handler_t::replace) + '\n');
}

void read_outcome(const fs::path& folder, TrainTrial& trial) {
  std::ifstream stream(outcome_file(folder));
  std::ostringstream text;
  text << stream.rdbuf();
  const OrderedJson json = OrderedJson::parse(text.str(), nullptr, false);
  if (!json.is_object()) return;
  const std::string status = json.value("status", "");
  for (const TrialStatus each : {TrialStatus::done, TrialStatus::diverged}) {
    if (status == name_of(each)) trial.status = each;
  }
  trial.reason = json.value("reason", "");
}

TrialStatus status_of(const TrialProcess& process) {
  const int code = process.exit_code();
  if (code == kDone || code == kTargetMissed) return TrialStatus::done;
  if (code == kInterrupted || code == kTerminated) return TrialStatus::pending;
  return process.words_about(kNotFinite).empty() ? TrialStatus::failed : TrialStatus::diverged;
}

// Of several ranks the one that diverged says more than those that lost it.
std::string reason_of(const TrialProcess& process) {
  const std::string divergence = process.words_about(kNotFinite);
  return divergence.empty() ? process.last_words() : divergence;
}

std::vector<std::string> words_of(const Settings& settings, std::uint64_t seed, const fs::path& folder) {
  std::vector<std::string> words{"train", "--quiet", "--out", folder.string()};
  for (const std::string& assignment : assignments_of(settings)) {
    words.push_back("--set");
    words.push_back(assignment);
  }
  words.push_back("--seed");
  words.push_back(std::to_string(seed));
  return words;
}

void run_trial(const PlannedWay& way, const fs::path& folder, TrainTrial& trial, CompareProgress& progress,
               const std::atomic<bool>& stop) {
  fs::remove_all(folder);
  TrialProcess process(words_of(way.settings, trial.seed, folder));
  bool is_told = false;
  while (!process.wait(kTrialLook)) {
    if (stop && !is_told) {
      process.interrupt();
      is_told = true;
    }
    progress.update(folder);
  }
  const TrialStatus status = status_of(process);
  if (status == TrialStatus::pending && stop) return;
  trial.status = status == TrialStatus::pending ? TrialStatus::failed : status;  // Somebody else ended it.
  if (trial.status != TrialStatus::done) trial.reason = reason_of(process);
  load_trial(folder, trial);
  fs::create_directories(folder);
  write_outcome(folder, trial);
}

}  // namespace

void load_trials(const fs::path& out, Comparison& comparison) {
  for (ComparedWay& way : comparison.ways) {
    for (TrainTrial& trial : way.trials) {
      read_outcome(out / trial.folder, trial);
      if (trial.status != TrialStatus::pending) load_trial(out / trial.folder, trial);
    }
  }
}

void run_trials(const std::vector<PlannedWay>& ways, const fs::path& out, Comparison& comparison,
                CompareProgress& progress, const std::atomic<bool>& stop) {
  std::size_t number = 0;
  for (std::size_t i = 0; i < comparison.ways.front().trials.size(); ++i) {
    for (std::size_t way = 0; way < comparison.ways.size(); ++way) {
      ++number;
      TrainTrial& trial = comparison.ways[way].trials[i];
      if (trial.status != TrialStatus::pending) continue;
      if (stop) return;
      progress.begin(way, trial, number, ways[way].steps);
      run_trial(ways[way], out / trial.folder, trial, progress, stop);
      if (trial.status != TrialStatus::pending) progress.end(trial);
    }
  }
}

}  // namespace hocket
