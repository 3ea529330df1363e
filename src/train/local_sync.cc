#include "train/local_sync.h"

namespace hocket {

LocalSync::LocalSync(std::int64_t period, Round round, Session& session, Group& peers)
    : period_(period), round_(round), session_(session), peers_(peers) {
  counts_.periods.push_back({1, period});
}

bool LocalSync::after_update(const PeerStep& step) {
  is_same_ = is_due(step.step);
  if (is_same_) round_(session_, peers_, counts_);
  return is_same_;
}

}  // namespace hocket
