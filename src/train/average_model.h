#pragma once

#include "collective/group.h"
#include "train/session.h"

namespace hocket {

// The all-reduce that leaves the mean of the replicas' arenas in each. One dtype throughout.
Operation mean_over(const Arena& arena, const ArenaLayout& layout);

// While it lives, the session has the mean of all replicas' parameters and buffers, and of the state of their
// optimizers if asked for; afterwards its own again, untouched. All replicas make it at the same time.
class AverageModel {
 public:
  enum class Of { model, model_and_optimizer };
  // `weight`: of this replica's parameters in the mean; their mean is 1.
  AverageModel(Session& session, Group& replicas, Of what = Of::model, double weight = 1);
  ~AverageModel();
  AverageModel(const AverageModel&) = delete;
  AverageModel& operator=(const AverageModel&) = delete;

  double squared_distance() const;  // Of this replica's parameters from the mean.

 private:
  void swap();

  Session& session_;
  Of what_;
  Arena parameters_, buffers_, state_;  // The mean, then the replica's own.
};

}  // namespace hocket
