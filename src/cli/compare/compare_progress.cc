#include "cli/compare/compare_progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "cli/units.h"

namespace hocket {
namespace {

constexpr std::streamoff kTail = 8192;
constexpr double kEnoughToProject = 0.02;  // Of a run: before, its start weighs too much.

std::string tail_of(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream.tellg();
  if (!stream || size <= 0) return "";
  std::string text(static_cast<std::size_t>(std::min(size, kTail)), '\0');
  stream.seekg(size - static_cast<std::streamoff>(text.size()));
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  return text;
}

std::vector<std::size_t> pending_of(const Comparison& comparison, std::size_t running) {
  std::vector<std::size_t> pending;
  for (const ComparedWay& way : comparison.ways) {
    pending.push_back(static_cast<std::size_t>(
        std::count_if(way.trials.begin(), way.trials.end(),
                      [](const TrainTrial& trial) { return trial.status == TrialStatus::pending; })));
  }
  if (pending[running] > 0) --pending[running];
  return pending;
}

std::size_t trials_in(const Comparison& comparison) {
  std::size_t count = 0;
  for (const ComparedWay& way : comparison.ways) count += way.trials.size();
  return count;
}

}  // namespace

LiveTrial read_live(const std::filesystem::path& folder) {
  LiveTrial live;
  const std::string text = tail_of(folder / "metrics.jsonl");
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find('\n', begin), text.size());
    const auto row = nlohmann::json::parse(text.begin() + static_cast<std::ptrdiff_t>(begin),
                                           text.begin() + static_cast<std::ptrdiff_t>(end), nullptr, false);
    begin = end + 1;
    if (!row.is_object()) continue;  // Cut at either end.
    live.step = row.value("step", live.step);
    live.epoch = row.value("epoch", live.epoch);
    const auto accuracy = row.find("accuracy");
    if (row.value("kind", "") == "eval" && accuracy != row.end() && accuracy->is_number())
      live.accuracy = accuracy->get<double>();
  }
  return live;
}

std::optional<double> TrialTimes::expected(std::size_t way) const {
  std::vector<double> seconds = seconds_[way];
  for (std::size_t i = 0; i < seconds_.size() && seconds_[way].empty(); ++i)
    seconds.insert(seconds.end(), seconds_[i].begin(), seconds_[i].end());
  if (seconds.empty()) return std::nullopt;
  double sum = 0;
  for (const double each : seconds) sum += each;
  return sum / static_cast<double>(seconds.size());
}

std::optional<double> TrialTimes::left(const std::vector<std::size_t>& pending, std::size_t way, double share,
                                       double elapsed) const {
  const std::optional<double> whole = share >= kEnoughToProject ? elapsed / share : expected(way);
  if (!whole) return std::nullopt;
  double left = std::max(0.0, *whole - elapsed);
  for (std::size_t i = 0; i < pending.size(); ++i)
    left += static_cast<double>(pending[i]) * expected(i).value_or(*whole);
  return left;
}

CompareProgress::CompareProgress(Terminal terminal, bool is_quiet, const Comparison& comparison)
    : comparison_(comparison), line_(terminal, is_quiet), times_(comparison.ways.size()) {}

void CompareProgress::begin(std::size_t way, const TrainTrial& trial, std::size_t number,
                            std::int64_t steps) {
  way_ = way;
  steps_ = steps;
  began_ = Clock::now();
  title_ = fmt::format("run {} of {}: {}, seed {}{}", number, trials_in(comparison_),
                       comparison_.ways[way].label, trial.seed, trial.is_repeat ? " again" : "");
  line_.begin(began_);
}

void CompareProgress::update(const std::filesystem::path& folder) {
  const Clock::time_point now = Clock::now();
  if (!line_.is_due(now)) return;
  const LiveTrial live = read_live(folder);
  std::string text = fmt::format("{}  epoch {:.2f}", title_, live.epoch);
  if (live.accuracy) text += fmt::format("  accuracy {}", percent_text(*live.accuracy));
  const double share =
      static_cast<double>(live.step) / static_cast<double>(std::max<std::int64_t>(1, steps_));
  if (const auto left = times_.left(pending_of(comparison_, way_), way_, share, elapsed()))
    text += fmt::format("  all done in {}", duration_text(*left));
  line_.show(line_.terminal().is_live ? text.substr(0, static_cast<std::size_t>(line_.terminal().columns - 1))
                                      : text,
             now);
}

void CompareProgress::end(const TrainTrial& trial) {
  times_.add(way_, elapsed());
  std::string text = title_;
  if (trial.status == TrialStatus::done) {
    text += trial.tests.empty() ? ""
                                : fmt::format("  {} {}", comparison_.measure(),
                                              comparison_.error_text(trial.tests.back().error));
    text += fmt::format("  in {}", duration_text(trial.wall_seconds));
  } else {
    text += fmt::format("  {}: {}", name_of(trial.status), trial.reason);
  }
  line_.note(text);
}

}  // namespace hocket
