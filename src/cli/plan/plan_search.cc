#include "cli/plan/plan_search.h"

#include <algorithm>

#include "base/error.h"
#include "plan/stage_names.h"

namespace hocket {
namespace {

std::string mesh_text(int stages, int replicas) {
  if (stages == 1 && replicas == 1) return "one rank";
  if (stages == 1) return fmt::format("dp={}", replicas);
  return replicas == 1 ? fmt::format("pp={}", stages) : fmt::format("pp={},dp={}", stages, replicas);
}

std::string names_of_stages(const MeasuredModel& model, const PipelinePrediction& prediction) {
  std::vector<int> ends;
  for (const PredictedPart& part : prediction.parts) ends.push_back(part.end_layer);
  return stage_names(*model.forward, layers_of(*model.forward), ends);
}

std::optional<PlanWay> way_of(const MeasuredModel& model, const PlanDemand& demand, PipelineRequest request) {
  PlanWay way;
  if (request.stages == 1) {  // Nothing to pipeline: gpipe of one part is plain gradient descent.
    request.schedule = PipelineSchedule::gpipe;
    request.chunks = 1;
    request.micro_batches = 1;
    if (auto found = predict_pipeline(model.profile, demand.cluster, request)) {
      way.predictions.push_back(*std::move(found));
    }
  } else {
    way.predictions = predict_micro_batches(model.profile, demand.cluster, request);
  }
  const PipelinePrediction* best = best_prediction(way.predictions);
  if (best == nullptr) return {};
  way.best = static_cast<std::size_t>(best - way.predictions.data());
  return way;
}

// All ways to cut the ranks in stages of equally many replicas, and one rank alone to compare with.
std::vector<PipelineRequest> requests_of(const PlanDemand& demand) {
  std::vector<PipelineRequest> requests;
  const int ranks = demand.cluster.topology.world();
  const PipelineRequest common{.batch = demand.batch, .chunks = demand.chunks, .schedule = demand.schedule};
  const auto add = [&](int stages, int replicas) {
    if (demand.batch % replicas != 0) return;
    PipelineRequest request = common;
    request.stages = stages;
    request.replicas = replicas;
    requests.push_back(request);
  };
  add(1, 1);
  if (ranks > 1) add(1, ranks);
  for (int stages = 2; stages <= ranks; ++stages) {
    if (ranks % stages != 0) continue;
    const bool is_wanted = !demand.mesh || demand.mesh->stages == stages;
    if (is_wanted) add(stages, ranks / stages);
  }
  return requests;
}

PartitionProblem pipedream_problem(const MeasuredModel& model, const PlanDemand& demand) {
  PartitionProblem problem{model.profile.costs_of(static_cast<double>(demand.batch)), demand.cluster.ranks,
                           demand.cluster.topology};
  problem.copies_of_parameters = model.profile.copies_of_parameters;
  problem.stashes_weights = true;
  return problem;
}

}  // namespace

std::string PlanWay::mesh() const { return mesh_text(chosen().request.stages, chosen().request.replicas); }

PlanResult search_plans(const MeasuredModel& model, const PlanDemand& demand) {
  PlanResult result;
  result.layers = layers_of(*model.forward);
  for (const PipelineRequest& request : requests_of(demand)) {
    if (std::optional<PlanWay> way = way_of(model, demand, request)) {
      result.ways.push_back(*std::move(way));
    } else {
      result.misfits.push_back(mesh_text(request.stages, request.replicas));
    }
  }
  const int ranks = demand.cluster.topology.world();
  bool is_found = false;
  for (std::size_t i = 0; i < result.ways.size(); ++i) {
    const PipelineRequest& request = result.ways[i].chosen().request;
    if (request.stages * request.replicas != ranks) continue;
    if (demand.mesh && demand.mesh->stages != request.stages) continue;
    if (!is_found || result.ways[i].chosen().step() < result.chosen().chosen().step()) result.best = i;
    is_found = true;
  }
  if (!is_found) {
    throw ConfigError(
        "plan: nothing fits {} ranks: {} layers, batches of {}, and the memory of the ranks; "
        "tried {}",
        ranks, result.layers.size(), demand.batch, fmt::join(result.misfits, ", "));
  }
  if (result.chosen().chosen().request.stages > 1) {
    result.stages = names_of_stages(model, result.chosen().chosen());
  }
  result.pipedream = best_partition(pipedream_problem(model, demand));
  return result;
}

std::string best_stages(const MeasuredModel& model, const ClusterModel& cluster,
                        const PipelineRequest& request) {
  const std::optional<PipelinePrediction> found = predict_pipeline(model.profile, cluster, request);
  if (!found) {
    throw ConfigError(
        "plan: the model has {} layers, too few for {} stages of {} chunks, or does not fit the "
        "memory of the ranks",
        model.profile.layers.size(), request.stages, request.chunks);
  }
  return names_of_stages(model, *found);
}

}  // namespace hocket
