#pragma once

#include "train/team.h"

namespace hocket {

// Whether any rank wants to stop. All ranks ask in the same way in the same step, and hear the same. Used by
// one thread; the team must outlive it.
class StopVote {
 public:
  explicit StopVote(Team& team) : team_(team) {}

  bool now(bool wants);
  // What all wanted when they were last asked; what this rank wants now travels behind the gradients. Only
  // where the team's communicator overlaps and dp is its mesh's only axis.
  bool behind(bool wants);

 private:
  bool earlier();

  Team& team_;
  double wants_ = 0;  // The most of all ranks, once the vote under way has ended.
  Communicator::Ticket ticket_ = 0;
};

}  // namespace hocket
