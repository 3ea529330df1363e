#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// The learning rate over a run, as a function of the step alone.
//
//   constant              the base rate
//   cosine                falls from the base rate to zero along half a cosine
//   linear                falls from the base rate to zero along a line
//   step,at=30x60,factor=0.1   multiplied by `factor` at the end of each epoch listed
//
// `warmup` steps at the start rise linearly from base/warmup. An immutable value.
class LearningRate {
 public:
  // Throws ConfigError for an unknown schedule.
  LearningRate(std::string_view schedule, double base, std::int64_t warmup, std::int64_t total_steps,
               std::int64_t steps_per_epoch);

  double at(std::int64_t step) const;

 private:
  std::string kind_;
  double base_;
  std::int64_t warmup_;
  std::int64_t total_;
  double factor_ = 0.1;
  std::vector<std::int64_t> boundaries_;  // In steps.
};

}  // namespace hocket
