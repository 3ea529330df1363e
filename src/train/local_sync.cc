#include "train/local_sync.h"

#include "train/average_model.h"

namespace hocket {

LocalSync::LocalSync(std::int64_t period, Session& session, Group& peers)
    : period_(period), session_(session), peers_(peers) {
  counts_.periods.push_back({1, period});
}

bool LocalSync::after_update(const PeerStep& step) {
  if (step.step % period_ != 0) return false;
  const std::uint64_t sent = peers_.traffic().bytes_sent;
  peers_.run(mean_over(session_.memory().parameters, session_.program().layouts().parameters));
  ++counts_.rounds;
  counts_.bytes_sent += peers_.traffic().bytes_sent - sent;
  return true;
}

}  // namespace hocket
