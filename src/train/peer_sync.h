#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

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
  double seconds = 0;          // Of training so far.
  bool is_due = false;         // After it the run wants to be recorded, tested or saved.
  std::int64_t next_test = 0;  // The step after which it next wants to be tested or saved, or ends.
  bool wants_to_stop = false;
};

// What workers have done together since they started: steps are those of one that did its share.
struct PeerProgress {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
};

// How a worker that has a whole replica of the model, with an optimizer of its own, agrees with its peers:
// acts on the parameters of its session around the update of every step. Its peers call the same at their own
// pace, so that it may wait for them. Keeps no address of the session's memory. Used by the training thread.
// Throws NetError.
class PeerSync {
 public:
  virtual ~PeerSync() = default;

  // Whether after_update() will look at the parameters after this step.
  virtual bool is_due(std::int64_t /*step*/) const { return true; }
  // Whether all replicas have the same parameters now.
  virtual bool is_same_everywhere() const { return false; }

  // All workers are there, `step` steps into the run, and none fails alone any more.
  virtual void begin(std::int64_t /*step*/) {}
  // The gradient of the step is there; the parameters are those that it was computed at.
  virtual void before_update(const PeerStep& /*step*/) {}
  // Whether all workers have met, and do so after the same step: only then, and after the last step, a run is
  // recorded, tested, saved or stopped.
  virtual bool after_update(const PeerStep& step) = 0;

  // How much the parameters of this worker count in the mean of all; its own steps are divided by it, so that
  // all gradients count the same.
  virtual double weight() const { return 1; }
  // Where each worker goes at its own pace: exactly, when all have met, and else as far as this one has
  // heard.
  virtual std::optional<PeerProgress> progress() const { return std::nullopt; }
  virtual std::string describe() const { return ""; }  // For the line that tells of the run.

  // All have met for the last time; what they do together from now on is none of its business.
  virtual void end() {}

  // What it remembers from step to step, beyond parameters, buffers and optimizer state.
  virtual void save(Checkpoint& /*checkpoint*/) const {}
  virtual void restore(const CheckpointReader& /*checkpoint*/) {}

  virtual std::optional<std::int64_t> period() const {
    return std::nullopt;
  }                                                 // Steps a round, where it is one.
  virtual PeerCounts counts() const { return {}; }  // Of this worker, since it started.
};

// Whether the workers of this team have a replica each, and a PeerSync.
bool has_peers(const TrainOptions& options, const Team& team);

// Which part of each batch is this process's.
struct WorkerPlace {
  AxisShare share;         // Among the workers.
  bool is_driver = false;  // A process beside them, which has none; rank 0.
};
WorkerPlace place_of_worker(const TrainOptions& options, const Team& team);

// What the discipline decides of the options before with_defaults() does.
TrainOptions with_discipline(TrainOptions options, const DataInfo& info);

// `options` as the session of one replica has them, which works alone on its share of the batch. Throws
// ConfigError for what goes only with gradients that are summed.
TrainOptions options_of_replica(const TrainOptions& options, const Team& team);

// None where there are no peers. Session and team must outlive it.
std::unique_ptr<PeerSync> make_peer_sync(const TrainOptions& options, const DataInfo& info, Session& session,
                                         Team& team);

}  // namespace hocket
