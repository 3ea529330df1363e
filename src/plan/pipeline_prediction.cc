#include "plan/pipeline_prediction.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "base/error.h"
#include "collective/choose.h"

namespace hocket {
namespace {

constexpr int kMostMicroBatches = 256;
constexpr int kStreamRounds = 8;
constexpr double kAsGood = 1.01;
constexpr std::size_t kElementBytes = 4;

// The ranks of stages, and what lies between them.
class Stages {
 public:
  Stages(const ClusterModel& cluster, const PipelineRequest& request)
      : cluster_(cluster), request_(request) {}

  RankLimits limits(int stage) const {
    RankLimits limits{std::numeric_limits<double>::infinity()};
    for (int i = 0; i < request_.replicas; ++i) {
      const RankLimits& rank = cluster_.ranks[static_cast<std::size_t>(stage * request_.replicas + i)];
      limits.speed = std::min(limits.speed, rank.speed);
      limits.memory_bytes = std::min(limits.memory_bytes, rank.memory_bytes);
    }
    return limits;
  }

  // Of replica i of one stage to replica i of the next: all replicas send at the same time.
  Link link(int from, int to) const {
    Link worst{Seconds(0), 0};
    if (from == to) return worst;
    for (int i = 0; i < request_.replicas; ++i) {
      const Link link = cluster_.topology.link(from * request_.replicas + i, to * request_.replicas + i);
      worst = {std::max(worst.alpha, link.alpha), std::max(worst.beta, link.beta)};
    }
    return worst;
  }

  // Of gradients over the replicas of a stage, by the best algorithm.
  Seconds sum(int stage, double bytes) const {
    if (request_.replicas == 1 || bytes == 0) return Seconds(0);
    std::vector<Rank> ranks(static_cast<std::size_t>(request_.replicas));
    std::iota(ranks.begin(), ranks.end(), stage * request_.replicas);
    const Demand demand{Collective::all_reduce, static_cast<std::size_t>(bytes) / kElementBytes};
    return candidates(demand, cluster_.topology.among(ranks)).front().predicted;
  }

 private:
  const ClusterModel& cluster_;
  const PipelineRequest& request_;
};

// Of a stream, enough of it to be full for a while.
PipelineShape replayed_shape(const PipelineRequest& request) {
  PipelineShape shape = request.shape();
  if (request.schedule == PipelineSchedule::pipedream) {
    shape.micro_batches = std::max(shape.micro_batches, kStreamRounds * shape.stages);
  }
  return shape;
}

// What the partitioner is told: each part has a rank to itself, which stands for all replicas of its stage.
PartitionProblem problem_of(const ModelProfile& profile, const ClusterModel& cluster,
                            const PipelineRequest& request) {
  const Stages stages(cluster, request);
  std::vector<RankLimits> ranks;
  std::vector<Rank> firsts;
  for (int part = 0; part < request.shape().parts(); ++part) {
    const int stage = part % request.stages;
    ranks.push_back(stages.limits(stage));
    ranks.back().memory_bytes /= request.chunks;
    firsts.push_back(stage * request.replicas);
  }
  PartitionProblem problem{profile.costs_of(request.samples()), std::move(ranks),
                           cluster.topology.among(firsts)};
  problem.copies_of_parameters = profile.copies_of_parameters;
  problem.most_replicas = 1;
  problem.micro_batches = request.micro_batches;
  problem.stashes_weights = request.schedule == PipelineSchedule::pipedream;
  if (request.schedule == PipelineSchedule::naive) problem.micro_batches = 1;
  if (request.schedule == PipelineSchedule::gpipe) {  // All are in flight in every stage.
    problem.micro_batches = 1;
    for (LayerCost& layer : problem.layers) layer.kept_bytes *= request.micro_batches;
  }
  return problem;
}

PredictedPart part_of(const ModelProfile& profile, const Stages& stages, const PipelineRequest& request,
                      const PlannedStage& planned) {
  const double samples = request.samples();
  const int stage = planned.first_rank % request.stages;
  PredictedPart part{planned.first_layer, planned.end_layer};
  PartCost& cost = part.cost;
  double kept_bytes = 0;
  if (planned.first_layer > 0) {  // What it receives.
    kept_bytes = profile.layers[static_cast<std::size_t>(planned.first_layer - 1)].output_bytes * samples;
  }
  for (int i = planned.first_layer; i < planned.end_layer; ++i) {
    const LayerProfile& layer = profile.layers[static_cast<std::size_t>(i)];
    cost.forward += layer.forward.of(samples);
    cost.backward += layer.backward.of(samples);
    cost.update += layer.update;
    part.parameter_bytes += layer.parameter_bytes;
    kept_bytes += layer.kept_bytes * samples;
  }
  const double speed = stages.limits(stage).speed;
  cost.forward /= speed;
  cost.backward /= speed;
  cost.update /= speed;
  part.sum = stages.sum(stage, part.parameter_bytes);
  cost.update += part.sum;
  cost.activation_bytes = static_cast<std::int64_t>(kept_bytes);
  return part;
}

void add_sends(std::vector<PredictedPart>& parts, const ModelProfile& profile, const Stages& stages,
               const PipelineRequest& request) {
  for (std::size_t i = 0; i + 1 < parts.size(); ++i) {
    const auto stage = static_cast<int>(i) % request.stages;
    const Link link = stages.link(stage, (stage + 1) % request.stages);
    const LayerProfile& last = profile.layers[static_cast<std::size_t>(parts[i].end_layer - 1)];
    const auto bytes = static_cast<std::size_t>(last.output_bytes * request.samples());
    parts[i].cost.send_down = link.time(bytes);
    parts[i + 1].cost.send_up = link.time(bytes);
  }
}

std::vector<double> memory_of(const PipelinePrediction& plan, const ModelProfile& profile) {
  std::vector<double> bytes;
  for (int stage = 0; stage < plan.request.stages; ++stage) {
    const PipelineActions actions = pipeline_actions(plan.request.schedule, plan.replay.shape, stage);
    const double copies = profile.copies_of_parameters + versions_kept(actions) - 1;
    bytes.push_back(static_cast<double>(plan.replay.peak_activation_bytes[static_cast<std::size_t>(stage)]));
    for (int chunk = 0; chunk < plan.request.chunks; ++chunk) {
      const auto part = static_cast<std::size_t>(chunk * plan.request.stages + stage);
      bytes.back() += copies * plan.parts[part].parameter_bytes;
    }
  }
  return bytes;
}

}  // namespace

Seconds PipelinePrediction::step() const {
  if (request.schedule != PipelineSchedule::pipedream) return replay.time;
  return replay.steady_interval() * request.micro_batches;
}

double PipelinePrediction::bubble() const {
  return request.schedule == PipelineSchedule::pipedream ? replay.steady_bubble() : replay.bubble();
}

std::optional<PipelinePrediction> predict_pipeline(const ModelProfile& profile, const ClusterModel& cluster,
                                                   const PipelineRequest& request) {
  check_shape(request.schedule, request.shape());
  HOCKET_CHECK(request.stages * request.replicas <= cluster.topology.world(), "{} x {} ranks of {}",
               request.stages, request.replicas, cluster.topology.world());
  const std::optional<Partition> partition = best_partition(problem_of(profile, cluster, request));
  if (!partition) return {};
  const Stages stages(cluster, request);
  PipelinePrediction plan{request, {}, {}, {}};
  for (const PlannedStage& stage : partition->stages) {
    plan.parts.push_back(part_of(profile, stages, request, stage));
  }
  add_sends(plan.parts, profile, stages, request);
  std::vector<PartCost> costs;
  for (const PredictedPart& part : plan.parts) costs.push_back(part.cost);
  plan.replay = replay_pipeline(request.schedule, replayed_shape(request), costs);
  plan.memory_bytes = memory_of(plan, profile);
  for (int stage = 0; stage < request.stages; ++stage) {
    if (plan.memory_bytes[static_cast<std::size_t>(stage)] > stages.limits(stage).memory_bytes) return {};
  }
  return plan;
}

std::vector<PipelinePrediction> predict_micro_batches(const ModelProfile& profile,
                                                      const ClusterModel& cluster, PipelineRequest request) {
  std::vector<PipelinePrediction> plans;
  const std::int64_t share = request.batch / request.replicas;
  for (int count = 1; count <= std::min<std::int64_t>(share, kMostMicroBatches); ++count) {
    const bool is_possible = request.schedule != PipelineSchedule::interleaved || count % request.stages == 0;
    if (share % count != 0 || !is_possible) continue;
    request.micro_batches = count;
    if (std::optional<PipelinePrediction> plan = predict_pipeline(profile, cluster, request)) {
      plans.push_back(*std::move(plan));
    }
  }
  return plans;
}

const PipelinePrediction* best_prediction(std::span<const PipelinePrediction> plans) {
  if (plans.empty()) return nullptr;
  const auto by_step = [](const PipelinePrediction& a, const PipelinePrediction& b) {
    return a.step() < b.step();
  };
  const Seconds least = std::min_element(plans.begin(), plans.end(), by_step)->step();
  const auto most_memory = [](const PipelinePrediction& plan) {
    return *std::max_element(plan.memory_bytes.begin(), plan.memory_bytes.end());
  };
  const PipelinePrediction* best = nullptr;
  for (const PipelinePrediction& plan : plans) {
    if (plan.step() > least * kAsGood) continue;
    if (best == nullptr || most_memory(plan) < most_memory(*best)) best = &plan;
  }
  return best;
}

}  // namespace hocket
