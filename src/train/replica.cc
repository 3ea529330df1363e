#include "train/replica.h"

#include <cmath>
#include <iterator>
#include <utility>

#include "base/error.h"
#include "data/file.h"
#include "train/checkpoint_settings.h"
#include "train/sums.h"

namespace hocket {
namespace {

const std::string kReplicas = "replicas";  // Setting of a checkpoint: how many have tensors of their own.

}  // namespace

Replica::Replica(const TrainOptions& options, const DataInfo& info, Session& session, Team& team)
    : session_(session),
      team_(team),
      place_(place_of_worker(options, team)),
      dtype_(options.dtype == "f64" ? DType::f64 : DType::f32),
      has_driver_(Discipline::parse(options.sync).has_driver()),
      peers_(make_peer_sync(options, info, session, team)) {}

const Arena& Replica::exchanged() const {
  return peers_ ? session_.memory().parameters : session_.memory().gradients;
}

void Replica::put(TrainResult& result) {
  if (Group* replicas = team_.is_alone() ? nullptr : team_.communicator()->gradients()) {
    Operation operation{Collective::all_reduce, Algorithm::automatic, Reduction::sum, dtype_};
    operation.data = exchanged().data();
    operation.count = exchanged().size() / size_of(dtype_);
    result.algorithm = name_of(replicas->choose(operation));
  }
  if (!peers_) return;
  result.peers = peers_->counts();
  if (result.peers->graph) result.algorithm = "neighbours";
  if (!place_.is_driver) result.peers->data_bytes_read = bytes_of_opened_files();
}

std::string Replica::prefix() const { return fmt::format("replica/{}/", team_.rank()); }

void Replica::restore(const CheckpointReader& reader) {
  const bool has_own = peers_ && progress_of(reader.checkpoint(), kReplicas) == team_.size();
  session_.restore(reader, true, has_own ? prefix() : "");
  if (has_own) peers_->restore(reader);
}

std::unique_ptr<AverageModel> Replica::average(bool with_optimizer) {
  if (!peers_) average_buffers(session_, team_);
  if (!peers_ || has_driver_) return nullptr;
  return std::make_unique<AverageModel>(
      session_, *team_.communicator()->gradients(),
      AverageModel::What{.parameters = !peers_->is_same_everywhere(), .optimizer = with_optimizer},
      peers_->weight());
}

double Replica::consensus_distance(const AverageModel& mean) {
  double sum = mean.squared_distance();
  team_.sum_along("dp", std::span(&sum, 1));
  return std::sqrt(sum / place_.share.count);
}

void Replica::save(RunCheckpoints& checkpoints, const RunProgress& progress) {
  std::vector<OwnPart> own = own_parts();
  const std::unique_ptr<AverageModel> mean = average(true);
  Checkpoint checkpoint = session_.checkpoint();
  if (peers_) {
    if (!team_.is_first()) checkpoint.parts.clear();
    std::move(own.begin(), own.end(), std::back_inserter(checkpoint.parts));
    checkpoint.settings[kReplicas] = std::to_string(team_.size());
    peers_->save(checkpoint);
  }
  checkpoints.save(std::move(checkpoint), progress);
}

// What a replica needs to go on as it is, beside the mean of all.
std::vector<OwnPart> Replica::own_parts() const {
  if (!peers_) return {};
  std::vector<OwnPart> parts = session_.checkpoint().parts;
  for (OwnPart& own : parts) own.part.name = prefix() + own.part.name;
  return parts;
}

}  // namespace hocket
