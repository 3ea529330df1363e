#include "train/peer_sync.h"

#include <algorithm>

#include "base/error.h"
#include "train/adaptive_sync.h"
#include "train/average_model.h"
#include "train/driver_sync.h"
#include "train/gossip_sync.h"
#include "train/local_sync.h"
#include "train/pair_sync.h"

namespace hocket {
namespace {

constexpr std::int64_t kIntervals = 5;  // Of a run, unless the user says how long they are.
constexpr std::int64_t kMicroBatch = 128;

AdaCommInterval interval_of(const Discipline& discipline, const TrainOptions& options) {
  if (discipline.interval.seconds > 0 || discipline.interval.steps > 0) return discipline.interval;
  return {0, std::max<std::int64_t>(1, options.steps / kIntervals)};
}

}  // namespace

bool has_peers(const TrainOptions& options, const Team& team) {
  return Discipline::parse(options.sync).has_peers() && team.share("dp").count > 1;
}

WorkerPlace place_of_worker(const TrainOptions& options, const Team& team) {
  const AxisShare share = team.share("dp");
  if (!has_peers(options, team) || !Discipline::parse(options.sync).has_driver()) return {share, false};
  return {{std::max(0, share.index - 1), share.count - 1}, share.index == 0};
}

TrainOptions with_discipline(TrainOptions options, const DataInfo& info) {
  const Discipline discipline = Discipline::parse(options.sync);
  const bool wants_sgd = discipline.kind == DisciplineKind::average || discipline.has_driver();
  if (wants_sgd && options.optimizer.rule.empty()) options.optimizer.rule = "sgd";
  if (discipline.kind != DisciplineKind::mapreduce) return options;
  if (info.max_nonzeros == 0) {  // Sparse rows are not cut, and need not be: they make one number each.
    const std::int64_t rows = options.batch > 0 ? options.batch : kMicroBatch;
    options.micro_batches = static_cast<int>((info.size + rows - 1) / rows);
  }
  options.batch = info.size;
  if (!discipline.caches) options.checkpoint_every = 1;
  return options;
}

TrainOptions options_of_replica(const TrainOptions& options, const Team& team) {
  const auto refuse = [&](bool is_given, const char* what) {
    if (is_given) throw ConfigError("{} does not go with --sync {}", what, options.sync);
  };
  refuse(team.mesh().size_of("tp") > 1, "--mesh with tp");
  refuse(team.mesh().size_of("pp") > 1, "--mesh with pp");
  refuse(options.schedule.starts_with("pipedream"), "--schedule pipedream");
  refuse(options.zero > 0, "--zero");
  refuse(options.compress != "none", "--compress");
  refuse(options.factors, "--factors");
  refuse(options.sync_batch_norm, "--sync-batch-norm");
  const std::string& rule = options.optimizer.rule;
  const bool is_linear = rule == "sgd" || rule == "momentum" || rule == "nesterov";
  if (Discipline::parse(options.sync).has_driver() && !is_linear) {
    throw ConfigError(
        "--sync {} steps by the mean of the workers' steps, which is no step of {}; choose sgd or momentum",
        options.sync, rule);
  }
  const int replicas = place_of_worker(options, team).share.count;
  TrainOptions replica = options;
  replica.batch = (options.batch + replicas - 1) / replicas;
  return replica;
}

std::unique_ptr<PeerSync> make_peer_sync(const TrainOptions& options, const DataInfo& info, Session& session,
                                         Team& team) {
  if (!has_peers(options, team)) return nullptr;
  const Discipline discipline = Discipline::parse(options.sync);
  Group& peers = *team.communicator()->gradients();
  const std::int64_t epoch = (info.size + options.batch - 1) / options.batch;
  switch (discipline.kind) {
    case DisciplineKind::local:
      return std::make_unique<LocalSync>(discipline.period, average_parameters, session, peers);
    case DisciplineKind::average:
      return std::make_unique<LocalSync>(discipline.period > 0 ? discipline.period : epoch, average_by_blocks,
                                         session, peers);
    case DisciplineKind::adacomm:
      return std::make_unique<AdaptiveSync>(AdaComm(discipline.period, interval_of(discipline, options)),
                                            session, peers);
    case DisciplineKind::mllib:
    case DisciplineKind::mapreduce: return std::make_unique<DriverSync>(session, peers, options.sync);
    case DisciplineKind::gossip: return std::make_unique<GossipSync>(discipline, options, session, team);
    case DisciplineKind::gossip_async: return std::make_unique<PairSync>(discipline, options, session, team);
    default: break;
  }
  HOCKET_CHECK(false, "{} has no peers", discipline.text());
}

}  // namespace hocket
