#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "collective/topology.h"

namespace hocket {

// One layer of a model for one micro-batch: the nodes between two places where the model may be cut.
struct LayerCost {
  std::string name{};
  Seconds forward{0};
  Seconds backward{0};
  double parameter_bytes = 0;
  double output_bytes =
      0;                  // Of all that layers behind read from this one and those before: what a cut sends.
  double kept_bytes = 0;  // From its forward to its backward.
};

struct RankLimits {
  double speed = 1;  // How many times as fast as where the layers were measured.
  double memory_bytes = std::numeric_limits<double>::infinity();
};

struct PartitionProblem {
  std::vector<LayerCost> layers;  // In an order in which they can run.
  std::vector<RankLimits> ranks;  // Those of the topology. Stages take them one after the other.
  Topology topology;
  int micro_batches = std::numeric_limits<int>::max();  // No stage has more of them in flight.
  double copies_of_parameters = 2;  // In memory: the weights, their gradient and the optimizer's state.
  bool stashes_weights = false;     // A version of the weights for each micro-batch in flight.
  int most_replicas = std::numeric_limits<int>::max();  // Of a stage.
};

// Layers [first_layer, end_layer) on ranks [first_rank, first_rank + replicas), which take micro-batches by
// turns and sum their gradients.
struct PlannedStage {
  int first_layer;
  int end_layer;
  int first_rank;
  int replicas;

  bool operator==(const PlannedStage&) const = default;
};

// Seconds a micro-batch: (compute + 4(m-1)|w|/(Bm)) / m for m replicas at the pace of the slowest one.
Seconds stage_time(const PartitionProblem& problem, const PlannedStage& stage);
// Seconds a micro-batch: 2a/B for the activations and their gradient on the slowest link between the two.
Seconds transfer_time(const PartitionProblem& problem, const PlannedStage& from, const PlannedStage& to);
// Bytes on each of the stage's ranks: as many micro-batches are in flight as ranks follow for each replica.
double stage_memory(const PartitionProblem& problem, const PlannedStage& stage);

struct Partition {
  std::vector<PlannedStage> stages;
  Seconds bottleneck{
      0};  // The slowest stage or transfer: what a micro-batch takes when the pipeline is full.
};

// The partition over all ranks whose bottleneck is least, and of those the one that a single micro-batch
// passes soonest; none where no partition fits the memory or there are fewer layers than stages.
std::optional<Partition> best_partition(const PartitionProblem& problem);

}  // namespace hocket
