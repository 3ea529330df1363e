#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "report/run_data.h"

namespace hocket {

// One test of the model while it was trained. Seconds are of training: tests and checkpoints do not count.
struct TestPoint {
  double step = 0;
  double epoch = 0;
  double seconds = 0;
  double bytes = 0;  // Sent by all workers so far: the run's total in proportion to its steps.
  double error = 0;  // 1 - accuracy, or the loss where the model does not classify.
};

enum class TrialStatus : std::uint8_t { pending, done, diverged, failed };
const char* name_of(TrialStatus status);

// One run of one way, with one seed.
struct TrainTrial {
  std::uint64_t seed = 0;
  std::string folder;      // Relative to that of the comparison.
  bool is_repeat = false;  // Of the run with the same seed, to compare the hash: no part of any statistic.
  TrialStatus status = TrialStatus::pending;
  std::string reason{};  // Why it did not end well.

  double wall_seconds = 0;
  double train_seconds = 0;
  double cpu_seconds = 0;
  double compute_seconds = 0;
  double comm_seconds = 0;
  double exposed_comm_seconds = 0;
  double wait_seconds = 0;
  double samples_per_second = 0;
  double bytes_sent = 0;
  double peak_rss_bytes = 0;
  double steps = 0;
  double staleness = 0;                    // Mean over the gradients.
  std::vector<double> staleness_counts{};  // How many had staleness 0, 1, …
  std::optional<double> conflict_rate{};   // Of Hogwild's writes.
  std::optional<double> objective{};       // Mean loss over the training data in the end, of a convex model.
  bool is_emulated = false;                // Workers slept, or links were slowed down.
  TraceData window{};                      // Some steps in the middle.
  std::string parameter_hash{};
  std::vector<TestPoint> tests{};
  bool has_accuracy = true;  // Else errors are losses.
};

// Fills in what the run folder says about the run. A folder without a summary leaves the trial as it is.
// Throws DataError where a file in it is not what it claims to be.
void load_trial(const std::filesystem::path& folder, TrainTrial& trial);

// A way to train: what it is before it runs, and its runs.
struct ComparedWay {
  std::string label;                                          // "2 workers, batch 64"
  std::string group;                                          // The label but for the number of workers.
  std::vector<std::pair<std::string, std::string>> settings;  // Of the keys that ways are made of.
  int workers = 1;
  std::int64_t batch = 0;
  std::vector<std::string> knobs;  // That it has beyond those of one worker.
  std::vector<std::string> tuned;  // Keys about workers that were not left at their defaults.
  std::string assumption;
  std::size_t baseline = 0;  // The way of one worker with the same settings otherwise.
  std::vector<TrainTrial> trials{};
};

// In any currency.
struct Prices {
  double worker_hour = 0.05;
  double gigabyte = 0.01;
};

// One model trained on one data set in several ways. A value type.
struct Comparison {
  std::string model;
  std::string data;
  std::string version;
  unsigned cores = 1;
  int threads = 0;  // Of each worker; 0: the workers of a way divide the cores, so one has all of them.
  std::optional<double> target_error;  // Empty: the error that every run that was done reached.
  Prices prices;
  std::optional<double> optimum{};  // Of the training loss, where the model is convex.
  std::vector<ComparedWay> ways;

  bool is_complete() const;                    // No trial is pending.
  bool judges_by_loss() const;                 // The model does not classify.
  bool is_emulated() const;                    // Any run is.
  const char* measure() const;                 // "test error" or "test loss".
  std::string error_text(double error) const;  // "12.34 %" or "0.1234".
  // What the machine makes of the figures, in whole sentences.
  std::vector<std::string> notices() const;
};

}  // namespace hocket
