#pragma once

#include <fmt/format.h>

#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace hocket {

// One training step, or the mean of the steps since the row before.
struct TrainMetrics {
  std::int64_t step = 0;
  double epoch = 0;    // Epochs done, with the fraction of the current one.
  double seconds = 0;  // Since training began, over all the times the run was resumed.
  double loss = 0;
  std::optional<double> accuracy = {};
  double learning_rate = 0;
  double samples_per_second = 0;
  std::optional<double> gradient_norm = {};
  std::span<const std::pair<std::string, double>> gradient_norms = {};  // By layer, where they are asked for.
  std::optional<std::int64_t> tau = {};  // Steps between two rounds of workers with a replica each.
};

// One pass over a held-out set.
struct EvalMetrics {
  std::string_view set = "test";
  std::int64_t step = 0;
  double epoch = 0;
  double seconds = 0;
  double loss = 0;
  std::optional<double> accuracy = {};
  std::optional<double> auc = {};
  std::optional<double> consensus_distance = {};  // Between replicas and their mean.
};

// The metrics.jsonl of a run: one JSON object a line, complete on disk's side of the program when write()
// returns, with null for what is not finite. Allocates nothing once warm, but for gradient norms. Used by one
// thread; throws Error.
class MetricsLog {
 public:
  explicit MetricsLog(const std::filesystem::path& path);  // Starts an empty file.
  // Goes on after `last_step`: rows of later steps, which will be trained again, and a torn last line are
  // dropped.
  MetricsLog(const std::filesystem::path& path, std::int64_t last_step);
  ~MetricsLog();
  MetricsLog(const MetricsLog&) = delete;
  MetricsLog& operator=(const MetricsLog&) = delete;

  void write(const TrainMetrics& metrics);
  void write(const EvalMetrics& metrics);

 private:
  void open(int flags);
  void begin(std::string_view kind, std::int64_t step, double epoch, double seconds);
  void add(std::string_view key, double value);
  void end();

  std::filesystem::path path_;
  int fd_ = -1;
  fmt::memory_buffer line_;
};

}  // namespace hocket
