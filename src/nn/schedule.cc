#include "nn/schedule.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>

#include "base/error.h"
#include "base/nearest.h"
#include "base/spec.h"

namespace hocket {

LearningRate::LearningRate(std::string_view schedule, double base, std::int64_t warmup,
                           std::int64_t total_steps, std::int64_t steps_per_epoch)
    : base_(base), warmup_(warmup), total_(std::max<std::int64_t>(1, total_steps)) {
  constexpr std::array<std::string_view, 4> kKinds{"constant", "cosine", "linear", "step"};
  const Spec spec = Spec::parse("learning-rate schedule", schedule);
  kind_ = spec.name;
  if (std::find(kKinds.begin(), kKinds.end(), kind_) == kKinds.end()) {
    throw ConfigError("unknown learning-rate schedule {}{}", kind_, did_you_mean(kind_, kKinds));
  }
  SpecOptions::Defaults defaults;
  if (kind_ == "step") defaults = {{"at", "200"}, {"factor", "0.1"}};
  const SpecOptions options("learning-rate schedule", spec, defaults);
  if (kind_ != "step") return;
  factor_ = options.real("factor");
  for (const std::int64_t epoch : options.list("at")) boundaries_.push_back(epoch * steps_per_epoch);
}

double LearningRate::at(std::int64_t step) const {
  if (step < warmup_) return base_ * static_cast<double>(step + 1) / static_cast<double>(warmup_);
  const double progress = std::min(1.0, static_cast<double>(step - warmup_) /
                                            static_cast<double>(std::max<std::int64_t>(1, total_ - warmup_)));
  if (kind_ == "cosine") return base_ * 0.5 * (1 + std::cos(std::numbers::pi * progress));
  if (kind_ == "linear") return base_ * (1 - progress);
  double rate = base_;
  for (const std::int64_t boundary : boundaries_) {
    if (step >= boundary) rate *= factor_;
  }
  return rate;
}

}  // namespace hocket
