#pragma once

#include "collective/group.h"
#include "train/peer_sync.h"

namespace hocket {

// A driver, rank 0, which computes no gradients, collects the model of every worker after each step and gives
// all of them the mean: 2·P·N bytes pass it in a round, P being the workers and N the bytes of a model.
class DriverSync final : public PeerSync {
 public:
  // Throws ConfigError for a model with running statistics, which no driver has.
  DriverSync(Session& session, Group& all, const std::string& sync);

  bool after_update(const PeerStep& step) override;
  bool is_same_everywhere() const override { return true; }
  PeerCounts counts() const override { return counts_; }

 private:
  void scale();

  Session& session_;
  Group& all_;
  PeerCounts counts_;
};

}  // namespace hocket
