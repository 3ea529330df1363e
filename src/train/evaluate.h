#pragma once

#include <atomic>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "data/loader.h"
#include "train/session.h"
#include "train/team.h"

namespace hocket {

struct Evaluation {
  std::int64_t samples = 0;
  double loss = 0;                   // Mean over the samples.
  std::optional<double> accuracy{};  // Where the model classifies.
  std::optional<double> auc{};       // Where it tells two classes apart by one score.
};

// Runs a session's model over a whole data set with the weights as they are. Replicas along dp take a share
// of it each, and all of them get the same result. Session, data set and team must outlive it.
class Evaluator {
 public:
  // Called after each batch with its scores (rows of them beyond `samples` samples are padding).
  using ScoresCallback = std::function<void(const Tensor& scores, std::int64_t samples)>;

  Evaluator(Session& session, const Dataset& data, Team& team);
  Evaluation run(const ScoresCallback& on_scores = {});

 private:
  Session& session_;
  const Dataset& data_;
  Team& team_;
  Slot slot_;
  std::unique_ptr<Loader> loader_;
};

struct EvalOptions {
  std::filesystem::path
      checkpoint;      // A checkpoint, step-NNNNNNNN, or a run folder, whose newest good one is taken.
  TrainOptions train;  // Model, data, batch and dtype, as they were trained.
  bool on_training_data = false;
  std::filesystem::path predictions{};  // Where to write a line per sample; empty: nowhere.
};

// Evaluates a checkpoint on the held-out part of its data. Throws ConfigError when there is none, or the
// checkpoint is of another model. `warn` receives a line for each torn checkpoint that is skipped.
Evaluation evaluate_checkpoint(const EvalOptions& options,
                               const std::function<void(const std::string&)>& warn);

}  // namespace hocket
