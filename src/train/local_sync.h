#pragma once

#include "collective/group.h"
#include "train/peer_sync.h"

namespace hocket {

// Local SGD: each worker takes `period` steps by itself, then all go on from the mean of their parameters, by
// average_parameters() or average_by_blocks().
class LocalSync final : public PeerSync {
 public:
  using Round = void (*)(Session& session, Group& replicas, PeerCounts& counts);
  LocalSync(std::int64_t period, Round round, Session& session, Group& peers);

  bool is_due(std::int64_t step) const override { return step % period_ == 0; }
  bool after_update(const PeerStep& step) override;
  bool is_same_everywhere() const override { return is_same_; }
  std::optional<std::int64_t> period() const override { return period_; }
  PeerCounts counts() const override { return counts_; }

 private:
  std::int64_t period_;
  Round round_;
  Session& session_;
  Group& peers_;
  PeerCounts counts_;
  bool is_same_ = false;
};

}  // namespace hocket
