#pragma once

#include "collective/group.h"
#include "train/peer_sync.h"

namespace hocket {

// Local SGD: each worker takes `period` steps by itself, then all go on from the mean of their parameters.
class LocalSync final : public PeerSync {
 public:
  LocalSync(std::int64_t period, Session& session, Group& peers);

  bool after_update(const PeerStep& step) override;
  PeerCounts counts() const override { return counts_; }

 private:
  std::int64_t period_;
  Session& session_;
  Group& peers_;
  PeerCounts counts_;
};

}  // namespace hocket
