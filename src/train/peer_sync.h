#pragma once

#include <cstdint>
#include <memory>

#include "sync/discipline.h"
#include "train/checkpoint.h"
#include "train/options.h"
#include "train/session.h"
#include "train/summary.h"
#include "train/team.h"

namespace hocket {

// A step as its worker sees it.
struct PeerStep {
  std::int64_t step = 0;  // Counts from 1.
  double learning_rate = 0;
  double loss = 0;  // Summed over this worker's samples:
  std::int64_t samples = 0;
  double seconds = 0;  // Of training so far.
};

// How a worker that has a whole replica of the model, with an optimizer of its own, agrees with its peers:
// acts on the parameters of its session around the update of every step. Its peers call the same at their own
// pace, so that it may wait for them. Keeps no address of the session's memory. Used by the training thread.
// Throws NetError.
class PeerSync {
 public:
  virtual ~PeerSync() = default;

  // The gradient of the step is there; the parameters are those that it was computed at.
  virtual void before_update(const PeerStep& /*step*/) {}
  // Whether all workers have met, and do so after the same step: only then, and after the last step, a run is
  // recorded, tested, saved or stopped.
  virtual bool after_update(const PeerStep& step) = 0;

  // What it remembers from step to step, beyond parameters, buffers and optimizer state.
  virtual void save(Checkpoint& /*checkpoint*/) const {}
  virtual void restore(const CheckpointReader& /*checkpoint*/) {}

  virtual PeerCounts counts() const { return {}; }  // Of this worker, since it started.
};

// Whether the workers of this team have a replica each, and a PeerSync.
bool has_peers(const TrainOptions& options, const Team& team);

// `options` as the session of one replica has them, which works alone on its share of the batch. Throws
// ConfigError for what goes only with gradients that are summed.
TrainOptions options_of_replica(const TrainOptions& options, const Team& team);

// None where there are no peers. Session and team must outlive it.
std::unique_ptr<PeerSync> make_peer_sync(const TrainOptions& options, Session& session, Team& team);

}  // namespace hocket
