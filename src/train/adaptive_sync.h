#pragma once

#include "collective/group.h"
#include "sync/adacomm.h"
#include "train/peer_sync.h"

namespace hocket {

// Local SGD whose steps a round AdaComm chooses by the loss of all workers. With each round travels what it
// decides by, so that all decide alike.
class AdaptiveSync final : public PeerSync {
 public:
  AdaptiveSync(const AdaComm& adacomm, Session& session, Group& peers);

  bool is_due(std::int64_t step) const override { return adacomm_.is_due(step); }
  bool after_update(const PeerStep& step) override;
  bool is_same_everywhere() const override { return is_same_; }
  void save(Checkpoint& checkpoint) const override;
  void restore(const CheckpointReader& checkpoint) override;
  std::optional<std::int64_t> period() const override { return adacomm_.period(); }
  PeerCounts counts() const override { return counts_; }

 private:
  void observe(const PeerStep& step);

  AdaComm adacomm_;
  Session& session_;
  Group& peers_;
  PeerCounts counts_;
  bool is_same_ = false;
  double loss_ = 0;  // Of the round, summed over so many
  double samples_ = 0;
  double first_loss_ = 0;  // The same of the first step, until all know it.
  double first_samples_ = 0;
  double first_rate_ = 0;
};

}  // namespace hocket
