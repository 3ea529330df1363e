#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "cli/status_line.h"
#include "report/comparison.h"

namespace hocket {

// How far a run is, by the last lines of its metrics.jsonl.
struct LiveTrial {
  std::int64_t step = 0;
  double epoch = 0;
  std::optional<double> accuracy;
};
LiveTrial read_live(const std::filesystem::path& folder);

// How long runs take, learned from those that have ended. A value type.
class TrialTimes {
 public:
  explicit TrialTimes(std::size_t ways) : seconds_(ways) {}

  void add(std::size_t way, double seconds) { seconds_[way].push_back(seconds); }
  // The mean of the way's runs, else of all runs; nothing before the first has ended.
  std::optional<double> expected(std::size_t way) const;
  // Until `pending` runs of each way and the one that goes on, of which `share` took `elapsed`, have ended.
  std::optional<double> left(const std::vector<std::size_t>& pending, std::size_t way, double share,
                             double elapsed) const;

 private:
  std::vector<std::vector<double>> seconds_;  // By way.
};

// Shows on standard error which run of how many goes on, how good its model is by now and how long all will
// take. Used by one thread.
class CompareProgress {
 public:
  CompareProgress(Terminal terminal, bool is_quiet, const Comparison& comparison);

  // Run `number` of `total` begins, which will do `steps`.
  void begin(std::size_t way, const TrainTrial& trial, std::size_t number, std::int64_t steps);
  void update(const std::filesystem::path& folder);
  void end(const TrainTrial& trial);

 private:
  using Clock = StatusLine::Clock;

  double elapsed() const { return std::chrono::duration<double>(Clock::now() - began_).count(); }

  const Comparison& comparison_;
  StatusLine line_;
  TrialTimes times_;
  std::string title_;  // Of the run that goes on.
  std::size_t way_ = 0;
  std::int64_t steps_ = 0;
  Clock::time_point began_{};
};

}  // namespace hocket
