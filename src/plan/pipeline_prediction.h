#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "plan/model_profile.h"
#include "plan/pipeline_replay.h"

namespace hocket {

struct ClusterModel {
  Topology topology;
  std::vector<RankLimits> ranks;
};

// A mesh pp=stages,dp=replicas and what runs on it. Stage s has ranks [s * replicas, (s + 1) * replicas).
struct PipelineRequest {
  int stages = 1;
  int replicas = 1;
  std::int64_t batch = 1;
  int micro_batches = 1;
  int chunks = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;

  PipelineShape shape() const { return {stages, micro_batches, chunks}; }
  double samples() const { return static_cast<double>(batch) / replicas / micro_batches; }  // Each time.
};

// One part of the model where it runs.
struct PredictedPart {
  int first_layer = 0;
  int end_layer = 0;
  PartCost cost{};  // An update has the sum of gradients over the replicas in it.
  Seconds sum{0};   // Of this.
  double parameter_bytes = 0;
};

struct PipelinePrediction {
  PipelineRequest request;
  std::vector<PredictedPart> parts;
  PipelineReplay replay;
  std::vector<double> memory_bytes;  // By stage: parameters with gradients and state, and activations.

  // Of all samples: a step of the synchronous schedules, a batch of a full pipedream.
  Seconds step() const;
  double bubble() const;
};

// The stages for this request with the least bottleneck, and what a step with them takes. None where they do
// not fit the memory or there are more stages than layers. Throws ConfigError as check_shape() does.
std::optional<PipelinePrediction> predict_pipeline(const ModelProfile& profile, const ClusterModel& cluster,
                                                   const PipelineRequest& request);

// The same for each number of micro-batches that divides a replica's share of the batch and that the schedule
// can have, ascending: few have a large bubble, many small ones waste time on calls.
std::vector<PipelinePrediction> predict_micro_batches(const ModelProfile& profile,
                                                      const ClusterModel& cluster, PipelineRequest request);

// The quickest; of those within a hundredth of it the one that needs the least memory.
const PipelinePrediction* best_prediction(std::span<const PipelinePrediction> plans);

}  // namespace hocket
