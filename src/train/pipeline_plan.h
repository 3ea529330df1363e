#pragma once

#include <vector>

#include "graph/mesh.h"
#include "plan/pipeline_schedule.h"
#include "train/options.h"

namespace hocket {

// How the micro-batches of a run pass through its stages. A value type.
struct PipelinePlan {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int ranks = 1;  // Along pp.
  int chunks = 1;
  bool vertical_sync = false;

  // As `options` say, with their batch known. Throws ConfigError where batch, micro-batches and stages do not
  // fit together.
  static PipelinePlan parse(const TrainOptions& options, const Mesh& mesh);

  int stages() const { return ranks * chunks; }
  bool is_stream() const { return schedule == PipelineSchedule::pipedream; }  // Each micro-batch is a step.
  // What the rank `stage` along pp does in a step of so many micro-batches, also where these are fewer than
  // the schedule needs.
  std::vector<PipelineAction> actions(int micro_batches, int stage) const;
};

}  // namespace hocket
