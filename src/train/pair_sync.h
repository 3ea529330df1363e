#pragma once

#include <memory>

#include "sync/pair_gossip.h"
#include "train/peer_sync.h"

namespace hocket {

// Asynchronous decentralised SGD (after AD-PSGD, Lian et al. 2018): each worker goes at its own pace, and now
// and then goes to the mean of its parameters and a neighbour's. It computes gradients at a copy of its
// parameters; another thread averages the parameters themselves meanwhile. Nobody waits for anybody but at
// meetings, when all workers together have done the steps to the next test.
class PairSync final : public PeerSync {
 public:
  PairSync(const Discipline& discipline, const TrainOptions& options, Session& session, Team& team);

  void begin(std::int64_t step) override;
  void before_update(const PeerStep& step) override;
  bool after_update(const PeerStep& step) override;
  std::optional<PeerProgress> progress() const override { return progress_; }
  std::string describe() const override;
  void end() override;
  PeerCounts counts() const override;

 private:
  void go_on(const PeerStep& step);
  void meet();
  void guess_progress();

  Discipline discipline_;
  std::uint64_t seed_;
  Session& session_;
  Team& team_;
  PeerGraph graph_;
  PeerCounts::Graph figures_;
  std::int64_t workers_;

  std::unique_ptr<PairGossip> gossip_;  // From begin() on.
  PairProgress own_;
  std::int64_t first_step_ = 0;    // Done before this process, by the run:
  std::int64_t next_meeting_ = 0;  // after so many more all meet.
  std::int64_t steps_of_all_ = 0;  // When they last met.
  bool is_meeting_ = true;
  PeerProgress progress_;
  PeerProgress met_;      // At the last meeting; then this worker had done
  PairProgress own_met_;  // so much.
};

}  // namespace hocket
