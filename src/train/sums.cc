#include "train/sums.h"

#include <algorithm>

#include "collective/tuner.h"

namespace hocket {
namespace {

std::optional<Algorithm> algorithm_of(const TrainOptions& options) {
  if (options.algorithm.empty()) return std::nullopt;
  const std::optional<Algorithm> algorithm = find_algorithm(options.algorithm);
  if (!algorithm) throw ConfigError("algorithm {} is not known", options.algorithm);
  return algorithm;
}

ReduceOrder order_of(const TrainOptions& options, std::optional<Algorithm> algorithm, bool one_host) {
  if (options.reduce_order == "rank") return ReduceOrder::rank;
  if (options.reduce_order == "any") return ReduceOrder::any;
  if (!options.reduce_order.empty())
    throw ConfigError("reduce order {} is not rank or any", options.reduce_order);
  if (algorithm) return keeps_rank_order(*algorithm) ? ReduceOrder::rank : ReduceOrder::any;
  return one_host ? ReduceOrder::rank : ReduceOrder::any;
}

void require_possible(Algorithm algorithm, ReduceOrder order, Group& group) {
  Call call{Collective::all_reduce, algorithm, group.size()};
  if (!supports(call)) {
    throw ConfigError("algorithm {} cannot add up over {} workers", name_of(algorithm), group.size());
  }
  if (order == ReduceOrder::rank && !keeps_rank_order(algorithm)) {
    throw ConfigError("algorithm {} does not add up in rank order; use --reduce-order any",
                      name_of(algorithm));
  }
  if (algorithm == Algorithm::direct && group.transport().shared_memory() == nullptr) {
    throw ConfigError("algorithm direct needs workers that share memory, and these talk over {}",
                      group.transport().name());
  }
}

}  // namespace

SumPlan plan_sums(const TrainOptions& options, Team& team) {
  Group* replicas = team.along("dp");
  if (replicas == nullptr) return {};
  const std::vector<int> hosts = team.host_of();
  const bool one_host = std::all_of(hosts.begin(), hosts.end(), [](int host) { return host == 0; });
  SumPlan plan;
  plan.algorithm = algorithm_of(options);
  plan.order = order_of(options, plan.algorithm, one_host);
  if (plan.algorithm) require_possible(*plan.algorithm, plan.order, *replicas);
  return plan;
}

void adopt(const SumPlan& plan, Team& team, std::size_t bytes) {
  Group* replicas = team.is_alone() ? nullptr : team.communicator()->gradients();
  if (replicas == nullptr) return;
  if (plan.algorithm) {
    replicas->set_chooser([algorithm = plan.algorithm](Collective collective, std::size_t) {
      return collective == Collective::all_reduce ? algorithm : std::nullopt;
    });
  } else if (plan.order == ReduceOrder::any) {
    const std::vector<int> hosts = team.host_of();
    std::vector<int> their_hosts;
    for (const int rank : team.mesh().members(team.rank(), "dp")) {
      their_hosts.push_back(hosts[static_cast<std::size_t>(rank)]);
    }
    Tuner(*replicas, measure_topology(*replicas, their_hosts), plan.order)
        .tune(Collective::all_reduce, bytes);
  } else {
    replicas->set_chooser({});  // The group's own choice keeps the rank order.
  }
}

void average_buffers(Session& session, Team& team) {
  Group* replicas = team.along("dp");
  if (replicas == nullptr) return;
  for (const ArenaLayout::Entry& entry : session.program().layouts().buffers.entries()) {
    const Tensor buffer = view_of(session.memory().buffers, entry);
    Operation operation{Collective::all_reduce, Algorithm::automatic, Reduction::mean, buffer.dtype()};
    operation.data = buffer.bytes().data();
    operation.count = static_cast<std::size_t>(buffer.count());
    replicas->run(operation);
  }
}

}  // namespace hocket
