#pragma once

#include <optional>
#include <span>
#include <string>

#include "plan/pipeline_walk.h"

namespace hocket {

// Proves on the actions alone that
//   every stage does every forward and every backward of each of its chunks once, each in the order of
//   micro-batches, a backward after its forward and with the same version of the weights;
//   synchronous schedules update once, at the end; pipedream after each backward, and goes forward with the
//   newest weights, or with vertical sync in all stages with those that are stage 0's newest;
//   no stage waits for ever, even when only `capacity` messages fit between two parts each way.
// Returns the first fault, naming stage and action. `actions` are those of all stages, in order.
std::optional<std::string> find_fault(PipelineSchedule schedule, const PipelineShape& shape,
                                      std::span<const PipelineActions> actions,
                                      int capacity = kUnboundedSends);

// The same for the schedule's own actions.
std::optional<std::string> find_fault(PipelineSchedule schedule, const PipelineShape& shape,
                                      int capacity = kUnboundedSends);

}  // namespace hocket
