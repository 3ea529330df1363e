#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/options.h"
#include "train/summary.h"
#include "train/team.h"

namespace hocket {

struct StepRecord {
  std::int64_t step = 0;  // Steps done, so 1 after the first.
  std::int64_t total_steps = 0;
  double epoch = 0;  // Epochs done, in fractions.
  double loss = 0;   // Mean over the samples since the last record.
  double learning_rate = 0;
  double samples_per_second = 0;
  double seconds = 0;        // Of training so far.
  bool is_emulated = false;  // Some rank sleeps where a real one computes.
  std::optional<double> gradient_norm{};
  std::vector<std::pair<std::string, double>> gradient_norms{};  // By parameter, when asked for.
  std::optional<std::int64_t> tau{};  // Steps that workers take between two rounds.
};

struct EvalRecord {
  std::int64_t step = 0;
  double epoch = 0;
  double loss = 0;
  std::optional<double> accuracy{};  // Where the model classifies.
  double seconds = 0;                // Of training so far.
  std::optional<double> auc{};       // Where it tells two classes apart by one score.
  // Where each worker has a replica: the root of the mean square of the distances |x_i - mean|.
  std::optional<double> consensus_distance{};
};

enum class Activity : std::uint8_t {
  data,
  forward,
  backward,
  emulate,  // Sleeps instead of computing.
  communicate,
  update,
  evaluate,
  checkpoint
};

// Follows a run; called on the training thread. Steps that are not recorded cost nothing but spans.
class TrainObserver {
 public:
  virtual ~TrainObserver() = default;
  virtual void on_start(const std::string& /*what*/) {}
  virtual void on_step(const StepRecord&) {}
  virtual void on_eval(const EvalRecord&) {}
  virtual void on_warning(const std::string&) {}
  virtual void on_span(Activity, std::int64_t /*start_ns*/, std::int64_t /*end_ns*/) {}
};

// What a run came to: the trainer's part of summary.json.
struct TrainResult {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  std::int64_t parameters = 0;
  RankSeconds seconds;             // Of this rank; it waits for data.
  std::vector<RankSeconds> ranks;  // Of all of them.
  double first_step_seconds = 0;   // From the start of run() to the end of the first step.
  double train_loss = 0;           // Of the last record.
  std::optional<EvalRecord> test{};
  std::optional<double> best_test_accuracy{};
  std::optional<double> time_to_target{};
  std::optional<double>
      objective{};  // Of a linear model with option c: ½|w|² + C·Σ loss over the training data.
  std::int64_t batch = 0;
  std::int64_t total_steps = 0;
  int threads = 1;  // Of each rank.
  std::string algorithm = "none";
  std::uint64_t bytes_sent = 0;  // By all ranks together, as are:
  std::uint64_t messages_sent = 0;
  std::int64_t peak_rss_bytes = 0;
  std::optional<PeerCounts> peers{};             // Of all of them together.
  std::vector<GradientCounts> gradients{};       // By worker of a parameter server.
  std::optional<PortionCounts> portions{};       // Of Sandblaster.
  std::optional<ConflictCounts> conflicts{};     // Of Hogwild.
  std::vector<std::int64_t> shares{};            // Of the last batches, by rank, where they were balanced.
  std::vector<std::int64_t> activation_bytes{};  // By rank, of all micro-batches in flight.
  std::optional<double> bubble_fraction{};       // Of a pipeline.
  std::string parameter_hash;
  bool interrupted = false;
  bool target_missed = false;
};

// Stands in the message of the Error with which train() gives up on a run that diverges.
inline constexpr std::string_view kNotFinite = "the loss is not finite";

// Trains as `options` say, together with the other ranks of the team, and writes checkpoints below
// options.out. When `stop` becomes true on any rank they end the step, write a checkpoint and return with
// interrupted set. Throws ConfigError, DataError, Error (such as a loss that is no longer finite, naming the
// first bad tensor), NetError, or FailedElsewhere where another rank could not start.
TrainResult train(const TrainOptions& options, TrainObserver& observer, const std::atomic<bool>& stop,
                  Team& team);

}  // namespace hocket
