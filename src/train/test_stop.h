#pragma once

#include <atomic>

#include "train/trainer.h"

namespace hocket {

// Raises the flag after so many of this rank's own steps; never, if negative.
class StopAfter final : public TrainObserver {
 public:
  StopAfter(int steps, std::atomic<bool>& flag) : left_(steps), flag_(flag) {}
  void on_span(Activity activity, std::int64_t /*start_ns*/, std::int64_t /*end_ns*/) override {
    if (activity == Activity::update && --left_ == 0) flag_ = true;
  }

 private:
  int left_;
  std::atomic<bool>& flag_;
};

}  // namespace hocket
