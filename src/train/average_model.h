#pragma once

#include "collective/group.h"
#include "train/session.h"
#include "train/summary.h"

namespace hocket {

// The all-reduce that leaves the mean of the replicas' arenas in each. One dtype throughout.
Operation mean_over(const Arena& arena, const ArenaLayout& layout);

// Every replica goes on from the mean of their parameters; counts the round.
void average_parameters(Session& session, Group& replicas, PeerCounts& counts);
// The same as MLlib* does it: each has a block of all models to average (reduce-scatter), and gives the
// others the mean of it (all-gather).
void average_by_blocks(Session& session, Group& replicas, PeerCounts& counts);

// While it lives, the session has the mean of all replicas' buffers, and of what else is asked for;
// afterwards its own again, untouched. All replicas make it at the same time.
class AverageModel {
 public:
  struct What {
    bool parameters = true;  // Need not be where they are the same already.
    bool optimizer = false;
  };
  // `weight`: of this replica's parameters in the mean; their mean is 1.
  AverageModel(Session& session, Group& replicas, What what, double weight = 1);
  ~AverageModel();
  AverageModel(const AverageModel&) = delete;
  AverageModel& operator=(const AverageModel&) = delete;

  double squared_distance() const;  // Of this replica's parameters from the mean.

 private:
  void swap();

  Session& session_;
  What what_;
  Arena parameters_, buffers_, state_;  // The mean, then the replica's own.
};

}  // namespace hocket
