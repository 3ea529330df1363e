#include "train/gossip_sync.h"

#include <utility>

#include "base/error.h"
#include "base/rng.h"
#include "sync/components.h"
#include "train/checkpoint_settings.h"

namespace hocket {
namespace {

const std::string kRounds = "gossip_rounds";  // Setting of a checkpoint.
constexpr std::uint64_t kSpreadStream = 0x5b4ead;

DType dtype_of(Session& session) {
  return session.program().layouts().parameters.entries().front().type.dtype;
}

template <typename T>
void add_noise(const Arena& arena, double deviation, Rng rng) {
  for (T& value : arena.at<T>(0, arena.size() / sizeof(T))) value += static_cast<T>(deviation * rng.normal());
}

}  // namespace

PeerGraph graph_of(const Discipline& discipline, const TrainOptions& options, int workers) {
  PeerGraph graph = make_peer_graph(discipline.graph, workers);
  if (!options.allow_disconnected) require_connected(graph, discipline.graph);
  return graph;
}

PeerCounts::Graph figures_of(const Discipline& discipline, const PeerGraph& graph) {
  return {discipline.graph, graph.is_directed(), graph.largest_degree(),
          second_eigenvalue(mixing_matrix(graph))};
}

std::string describe(const PeerCounts::Graph& figures) {
  return fmt::format("gossip over {}: degree {}{}, second eigenvalue {:.4f}, spectral gap {:.4f}",
                     figures.name, figures.largest_degree, figures.is_directed ? " (directed, push-sum)" : "",
                     figures.second_eigenvalue, 1 - figures.second_eigenvalue);
}

void spread_parameters(Session& session, double deviation, std::uint64_t seed, int worker) {
  if (deviation == 0) return;
  const Rng rng{seed, kSpreadStream, static_cast<std::uint64_t>(worker)};
  const Arena& parameters = session.memory().parameters;
  if (dtype_of(session) == DType::f64) {
    add_noise<double>(parameters, deviation, rng);
  } else {
    add_noise<float>(parameters, deviation, rng);
  }
}

GossipSync::GossipSync(const Discipline& discipline, const TrainOptions& options, Session& session,
                       Team& team)
    : discipline_(discipline),
      seed_(options.seed),
      session_(session),
      team_(team),
      graph_(graph_of(discipline, options, team.share("dp").count)),
      figures_(figures_of(discipline, graph_)),
      mixed_(session.memory().parameters.size()) {}

void GossipSync::begin(std::int64_t step) {
  peers_ = &team_.open_along("dp");
  mix_.emplace(peers_->transport(), graph_, first_round_);
  if (step == 0) spread_parameters(session_, discipline_.spread, seed_, peers_->rank());
}

void GossipSync::before_update(const PeerStep& /*step*/) {
  Arena& parameters = session_.memory().parameters;
  mix_->run(dtype_of(session_), parameters.bytes(), mixed_.bytes());
  std::swap(parameters, mixed_);
}

double GossipSync::weight() const { return mix_ ? mix_->mixing().weight(peers_->rank()) : 1; }

std::string GossipSync::describe() const { return hocket::describe(figures_); }

void GossipSync::save(Checkpoint& checkpoint) const {
  checkpoint.settings[kRounds] = std::to_string(mix_ ? mix_->rounds() : first_round_);
}

void GossipSync::restore(const CheckpointReader& checkpoint) {
  first_round_ = progress_of(checkpoint.checkpoint(), kRounds);
}

PeerCounts GossipSync::counts() const {
  PeerCounts counts;
  counts.graph = figures_;
  if (!mix_) return counts;
  counts.rounds = mix_->rounds() - first_round_;
  counts.bytes_sent = peers_->traffic().bytes_sent;
  return counts;
}

}  // namespace hocket
