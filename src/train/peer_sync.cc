#include "train/peer_sync.h"

#include "base/error.h"
#include "train/gossip_sync.h"
#include "train/local_sync.h"
#include "train/pair_sync.h"

namespace hocket {

bool has_peers(const TrainOptions& options, const Team& team) {
  return Discipline::parse(options.sync).has_peers() && team.share("dp").count > 1;
}

TrainOptions options_of_replica(const TrainOptions& options, const Team& team) {
  const auto refuse = [&](bool is_given, const char* what) {
    if (is_given) throw ConfigError("{} does not go with --sync {}", what, options.sync);
  };
  refuse(team.mesh().size_of("tp") > 1, "--mesh with tp");
  refuse(team.mesh().size_of("pp") > 1, "--mesh with pp");
  refuse(options.zero > 0, "--zero");
  refuse(options.compress != "none", "--compress");
  refuse(options.factors, "--factors");
  refuse(options.sync_batch_norm, "--sync-batch-norm");
  const int replicas = team.share("dp").count;
  TrainOptions replica = options;
  replica.batch = (options.batch + replicas - 1) / replicas;
  return replica;
}

std::unique_ptr<PeerSync> make_peer_sync(const TrainOptions& options, Session& session, Team& team) {
  if (!has_peers(options, team)) return nullptr;
  const Discipline discipline = Discipline::parse(options.sync);
  Group& peers = *team.communicator()->gradients();
  switch (discipline.kind) {
    case DisciplineKind::local: return std::make_unique<LocalSync>(discipline.period, session, peers);
    case DisciplineKind::gossip: return std::make_unique<GossipSync>(discipline, options, session, team);
    case DisciplineKind::gossip_async: return std::make_unique<PairSync>(discipline, options, session, team);
    default: break;
  }
  HOCKET_CHECK(false, "{} has no peers", discipline.text());
}

}  // namespace hocket
