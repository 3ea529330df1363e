#pragma once

#include <optional>
#include <string>

#include "runtime/explain.h"

namespace hocket {

// The same step with the axes of its mesh in the opposite order, so that other ranks are neighbours.
struct OtherOrder {
  std::string mesh;
  StepPrice price;
};

// What `hocket train --explain` tells of a run.
struct ExplainedRun {
  std::string model;
  std::string mesh;
  std::int64_t batch = 0;
  int zero = 0;
  std::string topology;  // As users type it.
  int hosts = 1, racks = 1;
  StepExplanation step;
  std::vector<MeshPrice> prices;  // By collective of the step.
  StepPrice price;
  std::optional<OtherOrder> other_order;  // Where there are several hosts and axes.
  std::string graph;                      // The step of rank 0, as text.
};

std::string explain_as_text(const ExplainedRun& run);
std::string explain_as_json(const ExplainedRun& run);

}  // namespace hocket
