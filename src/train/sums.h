#pragma once

#include <cstddef>
#include <optional>

#include "collective/choose.h"
#include "train/options.h"
#include "train/session.h"
#include "train/team.h"

namespace hocket {

// How the replicas of a run add up their gradients.
struct SumPlan {
  std::optional<Algorithm> algorithm{};  // None: the group's own, or what is measured to be the fastest.
  ReduceOrder order = ReduceOrder::rank;

  // Where replicas share memory.
  bool is_direct() const { return algorithm ? *algorithm == Algorithm::direct : order == ReduceOrder::rank; }
};

// As `options` say; else in rank order within one host, and in any order between hosts. Talks to nobody.
// Throws ConfigError where the options contradict each other or what the team can do.
SumPlan plan_sums(const TrainOptions& options, Team& team);

// Makes the replicas follow the plan for gradients of `bytes`; all ranks call it.
void adopt(const SumPlan& plan, Team& team, std::size_t bytes);

// Batch norm's running statistics are of each replica's own samples: all go on with the mean.
void average_buffers(Session& session, Team& team);

}  // namespace hocket
