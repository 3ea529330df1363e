#pragma once

#include <optional>

#include "train/trainer.h"

namespace hocket {

// The tests of a run so far: the last one, the best, and when the target was reached. A value type.
class TestScores {
 public:
  explicit TestScores(double target_accuracy) : target_(target_accuracy) {}  // 0: none.

  void add(const EvalRecord& record) {
    last_ = record;
    if (!record.accuracy) return;
    if (!best_ || *record.accuracy > *best_) best_ = record.accuracy;
    if (target_ > 0 && *record.accuracy >= target_ && !reached_) reached_ = record.seconds;
  }

  const std::optional<EvalRecord>& last() const { return last_; }
  bool has_reached_target() const { return reached_.has_value(); }

  // Fills in the tests of a run that was interrupted or not.
  void put(TrainResult& result, bool interrupted) const {
    result.test = last_;
    result.best_test_accuracy = best_;
    result.time_to_target = reached_;
    result.target_missed = target_ > 0 && !reached_ && !interrupted;
  }

 private:
  double target_;
  std::optional<EvalRecord> last_{};
  std::optional<double> best_{};
  std::optional<double> reached_{};  // Seconds of training.
};

}  // namespace hocket
