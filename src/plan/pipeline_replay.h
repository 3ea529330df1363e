#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "net/clock.h"
#include "plan/pipeline_walk.h"

namespace hocket {

// What one part of the model costs, for one micro-batch.
struct PartCost {
  Seconds forward{0};
  Seconds backward{0};
  Seconds update{0};
  Seconds send_down{0};               // Of its output to the next part.
  Seconds send_up{0};                 // Of the gradient of its input to the part before.
  std::int64_t activation_bytes = 0;  // What a micro-batch keeps from forward to backward.
};

struct PipelineSpan {
  int stage;
  PipelineAction action;
  Seconds begin;
  Seconds end;
};

struct PipelineReplay {
  PipelineShape shape{1, 1};
  std::vector<PipelineSpan> spans;                  // Those of a stage in order.
  Seconds time{0};                                  // When the last stage is done.
  std::vector<Seconds> busy;                        // By stage.
  std::vector<std::int64_t> peak_activation_bytes;  // By stage.

  double bubble() const;  // The share of all stages' time in which they wait, until the last one is done.
  // The same while the pipeline is full: from stage 0's first backward to its last forward; 0 if it never is.
  double steady_bubble() const;
  Seconds steady_interval() const;  // From one backward of stage 0 to the next, on average.
};

// Replays the schedule with these costs, one a part. Sends go on while the stage computes; the messages from
// one part to the next follow one another. Throws Error where the actions wait for ever.
PipelineReplay replay_pipeline(const PipelineShape& shape, std::span<const PipelineActions> actions,
                               std::span<const PartCost> costs);
PipelineReplay replay_pipeline(PipelineSchedule schedule, const PipelineShape& shape,
                               std::span<const PartCost> costs);

// (K-1)/(M+K-1), interleaved (K-1)/(vM+K-1), naive (K-1)/K, and pipedream 0 while it is full: the bubble when
// all parts cost the same and messages nothing.
double ideal_bubble(PipelineSchedule schedule, const PipelineShape& shape);

}  // namespace hocket
