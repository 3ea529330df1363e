#include "train/stop_vote.h"

#include <utility>

namespace hocket {

bool StopVote::earlier() {
  if (ticket_ != 0) team_.communicator()->wait(std::exchange(ticket_, Communicator::Ticket{0}));
  return std::exchange(wants_, 0) > 0;
}

bool StopVote::now(bool wants) {
  const bool wanted = earlier();
  return team_.any(wants || wanted);
}

bool StopVote::behind(bool wants) {
  const bool wanted = earlier();
  wants_ = wants ? 1 : 0;
  Operation vote;
  vote.reduction = Reduction::max;
  vote.dtype = DType::f64;
  vote.data = reinterpret_cast<std::byte*>(&wants_);
  vote.count = 1;
  ticket_ = team_.communicator()->start("dp", vote);
  return wanted;
}

}  // namespace hocket
