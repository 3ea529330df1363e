#include "report/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "report/trace_window.h"

namespace hocket {
namespace {

const Series* find_series(const RunData& run, const std::string& key) {
  const auto at = run.series.find(key);
  return at == run.series.end() ? nullptr : &at->second;
}

constexpr double kStepsShown = 6;
constexpr std::size_t kMostSpans = 1500;

// What summary.json holds below its first level.
void read_details(const std::filesystem::path& path, TrainTrial& trial) {
  std::ifstream stream(path);
  const auto json = nlohmann::json::parse(stream, nullptr, false);
  if (!json.is_object()) return;
  for (const auto& rank : json.value("ranks", nlohmann::json::array())) {
    const auto counts = rank.find("staleness_histogram");
    if (counts == rank.end() || !counts->is_array()) continue;
    if (trial.staleness_counts.size() < counts->size()) trial.staleness_counts.resize(counts->size(), 0);
    for (std::size_t i = 0; i < counts->size(); ++i) {
      if ((*counts)[i].is_number()) trial.staleness_counts[i] += (*counts)[i].get<double>();
    }
  }
  const auto hogwild = json.find("hogwild");
  if (hogwild != json.end() && hogwild->is_object())
    trial.conflict_rate = hogwild->value("conflict_rate", 0.0);
}

std::vector<TestPoint> tests_of(const RunData& run) {
  const Series* accuracies = find_series(run, "eval/test/accuracy");
  const Series* series = accuracies != nullptr ? accuracies : find_series(run, "eval/test/loss");
  if (series == nullptr) return {};
  const double bytes_per_step =
      run.find_number("bytes_sent").value_or(0) / std::max(1.0, run.find_number("steps").value_or(1));
  std::vector<TestPoint> tests;
  for (const Point& point : *series) {
    tests.push_back({point.step, point.epoch, point.seconds, point.step * bytes_per_step,
                     accuracies != nullptr ? 1 - point.value : point.value});
  }
  return tests;
}

}  // namespace

const char* name_of(TrialStatus status) {
  switch (status) {
    case TrialStatus::done: return "done";
    case TrialStatus::diverged: return "diverged";
    case TrialStatus::failed: return "failed";
    case TrialStatus::pending: break;
  }
  return "pending";
}

void load_trial(const std::filesystem::path& folder, TrainTrial& trial) {
  if (!std::filesystem::exists(folder / "summary.json")) return;
  const RunData run = load_run(folder);
  const auto number = [&](const char* key) { return run.find_number(key).value_or(0); };
  trial.wall_seconds = number("wall_seconds");
  trial.train_seconds = number("train_seconds");
  trial.cpu_seconds = number("cpu_seconds");
  trial.compute_seconds = number("compute_seconds");
  trial.comm_seconds = number("comm_seconds");
  trial.exposed_comm_seconds = number("exposed_comm_seconds");
  trial.wait_seconds = number("wait_seconds");
  trial.samples_per_second = number("samples_per_second");
  trial.bytes_sent = number("bytes_sent");
  trial.peak_rss_bytes = number("peak_rss_bytes");
  trial.parameter_hash = run.find_summary("parameter_hash").value_or("");
  trial.steps = number("steps");
  trial.staleness = number("staleness");
  trial.is_emulated = run.is_emulated();
  trial.staleness_counts.clear();
  read_details(folder / "summary.json", trial);
  trial.window =
      trace_window(run.trace, kStepsShown * trial.train_seconds / std::max(1.0, trial.steps), kMostSpans);
  trial.tests = tests_of(run);
  trial.has_accuracy = find_series(run, "eval/test/accuracy") != nullptr;
}

bool Comparison::is_complete() const {
  return std::all_of(ways.begin(), ways.end(), [](const ComparedWay& way) {
    return std::none_of(way.trials.begin(), way.trials.end(),
                        [](const TrainTrial& trial) { return trial.status == TrialStatus::pending; });
  });
}

bool Comparison::judges_by_loss() const {
  return std::any_of(ways.begin(), ways.end(), [](const ComparedWay& way) {
    return std::any_of(way.trials.begin(), way.trials.end(),
                       [](const TrainTrial& trial) { return !trial.tests.empty() && !trial.has_accuracy; });
  });
}

bool Comparison::is_emulated() const {
  return std::any_of(ways.begin(), ways.end(), [](const ComparedWay& way) {
    return std::any_of(way.trials.begin(), way.trials.end(),
                       [](const TrainTrial& trial) { return trial.is_emulated; });
  });
}

const char* Comparison::measure() const { return judges_by_loss() ? "test loss" : "test error"; }

std::string Comparison::error_text(double error) const {
  return judges_by_loss() ? fmt::format("{:.4f}", error) : fmt::format("{:.2f} %", 100 * error);
}

std::vector<std::string> Comparison::notices() const {
  int most = 1;
  for (const ComparedWay& way : ways) most = std::max(most, way.workers);
  std::vector<std::string> sentences;
  if (static_cast<unsigned>(most) > cores) {
    sentences.push_back(
        fmt::format("Cores here: {}. More workers than that take turns on them, and their times tell of this "
                    "machine alone.",
                    cores));
  }
  if (most > 1 && threads == 0) {
    sentences.push_back(
        "One worker has all cores here, several divide them; --threads 1 gives each worker one core.");
  }
  if (is_emulated()) {
    sentences.emplace_back("Emulated: workers slept, or messages waited, as on slower machines and links.");
    sentences.emplace_back("Times, speed-ups, shares and costs are of those; errors and bytes are real.");
  }
  return sentences;
}

}  // namespace hocket
