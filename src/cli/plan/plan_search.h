#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "cli/plan/profile_model.h"
#include "plan/model_layers.h"
#include "plan/pipeline_prediction.h"

namespace hocket {

// What `hocket plan` is asked.
struct PlanDemand {
  ClusterModel cluster;
  std::int64_t batch = 1;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int chunks = 1;
  std::optional<PipelineRequest> mesh{};  // Only these stages and replicas.
};

// One way to use the ranks.
struct PlanWay {
  std::vector<PipelinePrediction> predictions;  // By number of micro-batches; of one stage just one.
  std::size_t best = 0;

  const PipelinePrediction& chosen() const { return predictions[best]; }
  std::string mesh() const;  // As --mesh wants it.
};

struct PlanResult {
  std::vector<ModelLayer> layers;
  std::vector<PlanWay> ways;  // One rank alone, all along dp, then pipelines by their number of stages.
  std::vector<std::string> misfits;  // The meshes that memory or the number of layers forbids.
  std::size_t best = 0;
  std::string stages;                    // Of the best way, as --stages wants them.
  std::optional<Partition> pipedream{};  // Where every stage may have as many replicas as it likes.

  const PlanWay& chosen() const { return ways[best]; }
};

// Tries all meshes of all ranks, or the one that was asked for. Throws ConfigError where none fits.
PlanResult search_plans(const MeasuredModel& model, const PlanDemand& demand);

// The stages that search_plans() finds for one mesh and number of micro-batches, as --stages wants them.
std::string best_stages(const MeasuredModel& model, const ClusterModel& cluster,
                        const PipelineRequest& request);

}  // namespace hocket
