#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

#include "ps/consistency.h"
#include "ps/worker.h"
#include "sync/adacomm.h"

namespace hocket {

enum class DisciplineKind : std::uint8_t {
  allreduce,
  bsp,
  ssp,
  asp,
  kofn,
  softsync,
  downpour,
  sandblaster,
  local,
  hogwild,
  gossip,
  gossip_async,
  adacomm,
  average,
  mllib,
  mapreduce
};

// How the replicas agree on the parameters, as --sync names it: "ps:ssp,s=3", "downpour,nfetch=2". A value
// type.
struct Discipline {
  static constexpr std::int64_t kUnbounded = std::numeric_limits<std::int64_t>::max();
  enum class Late : std::uint8_t { drop, merge };          // Gradients that the update did not wait for.
  enum class Rate : std::uint8_t { fixed, staleness };     // The same for all, or divided by the staleness.
  enum class AdaGradAt : std::uint8_t { server, worker };  // Where downpour keeps the sums, if it has any.

  DisciplineKind kind = DisciplineKind::allreduce;
  std::int64_t staleness = 0;  // ssp: batches that a worker may be ahead of the slowest; s=inf: kUnbounded.
  int quorum = 0;              // kofn: gradients that an update waits for.
  Late late = Late::drop;
  int splits = 1;  // softsync: an update takes the gradients of a `splits`-th of the workers.
  Rate rate = Rate::fixed;
  double scale = 0;  // ssp, asp, downpour: on a worker's own mean gradient; 0: one over the workers.
  bool pulls_ahead =
      false;  // ssp, asp, softsync, downpour: asks for values while it computes the batch before.
  int fetch_every = 1;
  int push_every = 1;
  AdaGradAt adagrad = AdaGradAt::server;
  std::int64_t warm_start = 0;
  int portions = 64;  // sandblaster: parts of the data that workers are given; whatever their number, so that
                      // it changes no bit.
  int history = 10;   // sandblaster: steps that L-BFGS remembers.
  // Steps that a worker takes by itself: of local, of adacomm at first, of average (0: an epoch).
  std::int64_t period = 1;
  AdaCommInterval interval{};  // adacomm; nothing: a fifth of the run.
  bool is_lazy = false;        // average: L2 decay of sparse rows costs what their entries cost.
  bool caches = false;         // mapreduce: data stay in memory, and the model with them.
  bool is_locked = false;      // hogwild: one thread at a time updates, as a control.
  std::int64_t rows = 0;  // hogwild: samples of an update; 0: those of a batch divided among the threads.
  std::string graph{};    // gossip, gossip-async: who talks to whom, as make_peer_graph() reads it.
  double spread = 0;      // gossip, gossip-async: how far apart replicas start (standard deviation).

  // Throws ConfigError that names the nearest word known.
  static Discipline parse(std::string_view text);
  std::string text() const;
  bool has_servers() const {
    return kind != DisciplineKind::allreduce && kind != DisciplineKind::hogwild && !has_peers();
  }
  // Whether the next batch waits for the gradients of all workers.
  bool is_lockstep() const {
    return kind == DisciplineKind::bsp || (kind == DisciplineKind::ssp && staleness == 0);
  }
  // Whether each worker has a whole replica with an optimizer of its own, and no step without its own update.
  bool has_peers() const {
    return kind == DisciplineKind::local || kind == DisciplineKind::adacomm ||
           kind == DisciplineKind::average || has_driver() || is_gossip();
  }
  // Whether a process beside the workers, which computes no gradients, collects and spreads the models.
  bool has_driver() const { return kind == DisciplineKind::mllib || kind == DisciplineKind::mapreduce; }
  bool is_gossip() const { return kind == DisciplineKind::gossip || kind == DisciplineKind::gossip_async; }

  // Throws ConfigError where so many workers cannot follow it.
  void require_fit(int workers) const;

  bool operator==(const Discipline&) const = default;
};

// The servers' side, for disciplines whose gradients are pushed to them.
MakeConsistency make_consistency(const Discipline& discipline, int workers);

// The workers' side: sets what the discipline decides and leaves the rest.
WorkerOptions worker_options(const Discipline& discipline, WorkerOptions options);

}  // namespace hocket
