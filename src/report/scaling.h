#pragma once

#include <optional>
#include <string>
#include <vector>

#include "report/score.h"

namespace hocket {

struct ScalingPoint {
  int workers = 0;
  double speed_up = 0;       // In samples a second over one worker's.
  double communication = 0;  // Share of the training time.
};

// What more workers would bring than this machine has cores for: a model, not a measurement. Each worker
// keeps the samples of a step that it had in the way it begins from; all links are as fast as that way's.
struct ModelledScaling {
  std::size_t from = 0;  // The measured way.
  std::vector<ScalingPoint> ring;
  std::vector<ScalingPoint> master;
  std::string assumption;
};

// From the all-reduce with the most workers that have a core each. Nothing where none was measured.
std::optional<ModelledScaling> model_scaling(const Comparison& comparison, const Scores& scores);

}  // namespace hocket
