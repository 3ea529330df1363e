#pragma once

#include <memory>
#include <optional>

#include "sync/neighbour_mix.h"
#include "train/peer_sync.h"

namespace hocket {

// The graph that the discipline names for the workers of a team, and what a summary says of it. Throws
// ConfigError where it falls apart, unless that is allowed, and DataError.
PeerGraph graph_of(const Discipline& discipline, const TrainOptions& options, int workers);
PeerCounts::Graph figures_of(const Discipline& discipline, const PeerGraph& graph);
std::string describe(const PeerCounts::Graph& figures);

// Moves each parameter by a random number of this standard deviation, another one on every worker.
void spread_parameters(Session& session, double deviation, std::uint64_t seed, int worker);

// Decentralised SGD (D-PSGD, Lian et al. 2017): x_i ← Σ_j W_ij x_j − γ g_i(x_i), where j are the neighbours
// in a graph; by push-sum where it is directed (Assran et al. 2019). A worker waits for its neighbours alone;
// all meet when something is due.
class GossipSync final : public PeerSync {
 public:
  GossipSync(const Discipline& discipline, const TrainOptions& options, Session& session, Team& team);

  void begin(std::int64_t step) override;
  void before_update(const PeerStep& step) override;
  bool after_update(const PeerStep& step) override { return step.is_due; }
  double weight() const override;
  std::string describe() const override;
  void save(Checkpoint& checkpoint) const override;
  void restore(const CheckpointReader& checkpoint) override;
  PeerCounts counts() const override;

 private:
  Discipline discipline_;
  std::uint64_t seed_;
  Session& session_;
  Team& team_;
  PeerGraph graph_;
  PeerCounts::Graph figures_;
  Arena mixed_;
  std::int64_t first_round_ = 0;  // So many were before.
  Group* peers_ = nullptr;        // From begin() on, as is:
  std::optional<NeighbourMix> mix_;
};

}  // namespace hocket
