#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "train/average_model.h"
#include "train/peer_sync.h"
#include "train/run_checkpoints.h"
#include "train/trainer.h"

namespace hocket {

// The model of this worker among those of all: a replica of its own, kept near the others by a PeerSync, or
// the one model that all have together. Used by the training thread; what it is given must outlive it.
class Replica {
 public:
  Replica(const TrainOptions& options, const DataInfo& info, Session& session, Team& team);

  PeerSync* peers() { return peers_.get(); }  // Null where all have one model.

  const Arena& exchanged() const;  // What the replicas add up or average.
  // How they did, in what a run came to.
  void put(TrainResult& result);

  // Replicas go on from where they were; other ones than the checkpoint has all begin at their mean.
  void restore(const CheckpointReader& reader);

  // The mean of the replicas is the session's model for as long as it lives; null where there is one model
  // already. All ranks call it.
  std::unique_ptr<AverageModel> average(bool with_optimizer = false);
  // The root of the mean square of the replicas' distances from the mean; all workers call it.
  double consensus_distance(const AverageModel& mean);

  // What a run needs to go on: the model of all, and what each replica has of its own. All ranks call it.
  void save(RunCheckpoints& checkpoints, const RunProgress& progress);

 private:
  std::string prefix() const;
  std::vector<OwnPart> own_parts() const;

  Session& session_;
  Team& team_;
  const WorkerPlace place_;
  const DType dtype_;
  const bool has_driver_;
  std::unique_ptr<PeerSync> peers_;
};

}  // namespace hocket
