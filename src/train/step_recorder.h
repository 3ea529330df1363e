#pragma once

#include "train/session.h"
#include "train/time_account.h"

namespace hocket {

// Where a run is when a step is recorded.
struct StepState {
  std::int64_t step = 0;
  std::int64_t samples = 0;  // Of all workers.
  double epoch = 0;
  double loss = 0;                // Summed over this rank's samples since the last record,
  std::int64_t loss_samples = 0;  // of which there are so many.
  double learning_rate = 0;
  const Slot* updated = nullptr;  // The last.
  std::optional<std::int64_t> tau{};
};

// Makes the records of a run's steps, each of what has been since the one before. Used by one thread; what it
// is given must outlive it.
class StepRecorder {
 public:
  StepRecorder(const TrainOptions& options, Session& session, Team& team, const TimeAccount& time,
               TrainObserver& observer)
      : options_(options), session_(session), team_(team), time_(time), observer_(observer) {}

  void resume_at(std::int64_t step, std::int64_t samples);
  // Whose loss a record is of: all those call it at the same time.
  enum class Of : std::uint8_t { worker, replicas, all };
  void record(const StepState& state, Of whom);
  void skip(const StepState& state);  // Another stage records it.

  std::int64_t last_step() const { return last_.step; }
  double last_loss() const { return last_loss_; }

 private:
  const TrainOptions& options_;
  Session& session_;
  Team& team_;
  const TimeAccount& time_;
  TrainObserver& observer_;
  StepState last_;
  std::int64_t last_ns_ = 0;
  double last_loss_ = 0;
};

}  // namespace hocket
