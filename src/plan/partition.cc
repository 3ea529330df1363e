// PipeDream's dynamic programme (Narayanan et al. 2019, section 3.1): the best partition of the layers from j
// on over the ranks from r on, whose first stage has m replicas, is that stage and the best partition of what
// is left. Once for the least bottleneck; once more, among the stages that stay within it, for the least sum
// of all times.

#include "plan/partition.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};
constexpr double kRounding = 1e-9;  // Sums in another order may differ by this share.

// The slower of both in every respect.
Link worse(const Link& a, const Link& b) { return {std::max(a.alpha, b.alpha), std::max(a.beta, b.beta)}; }

// Of all links from ranks [a, a_end) to ranks [b, b_end).
Link worst_between(const Topology& topology, Rank a, Rank a_end, Rank b, Rank b_end) {
  Link worst{Seconds(0), 0};
  for (Rank from = a; from < a_end; ++from) {
    for (Rank to = b; to < b_end; ++to) {
      if (from != to) worst = worse(worst, topology.link(from, to));
    }
  }
  return worst;
}

Seconds time_of(const Link& link, double bytes) { return link.alpha + Seconds(link.beta * bytes); }

// Some ranks one after the other, as those of a stage.
struct Team {
  int size = 0;
  double speed = 0;
  double memory_bytes = 0;
  int in_flight = 0;
  Link link{Seconds(0), 0};
};

Team team_of(const PartitionProblem& problem, Rank first, int size) {
  Team team{size, std::numeric_limits<double>::infinity(), std::numeric_limits<double>::infinity()};
  for (Rank rank = first; rank < first + size; ++rank) {
    const RankLimits& limits = problem.ranks[static_cast<std::size_t>(rank)];
    team.speed = std::min(team.speed, limits.speed);
    team.memory_bytes = std::min(team.memory_bytes, limits.memory_bytes);
  }
  const int ranks_left = static_cast<int>(problem.ranks.size()) - first;
  team.in_flight = std::min(problem.micro_batches, (ranks_left + size - 1) / size);
  team.link = worst_between(problem.topology, first, first + size, first, first + size);
  return team;
}

// The layers of a stage, added up.
struct Load {
  Seconds compute{0};
  double parameter_bytes = 0;
  double kept_bytes = 0;

  void add(const LayerCost& layer) {
    compute += layer.forward + layer.backward;
    parameter_bytes += layer.parameter_bytes;
    kept_bytes += layer.kept_bytes;
  }
};

Load load_of(const PartitionProblem& problem, const PlannedStage& stage) {
  Load load;
  for (int i = stage.first_layer; i < stage.end_layer; ++i) {
    load.add(problem.layers[static_cast<std::size_t>(i)]);
  }
  return load;
}

Seconds time_of(const Load& load, const Team& team) {
  const int m = team.size;
  const Seconds sum = 4 * (m - 1) * time_of(team.link, load.parameter_bytes / m);
  return (load.compute / team.speed + sum) / m;
}

double memory_of(const PartitionProblem& problem, const Load& load, const Team& team) {
  const double copies = problem.copies_of_parameters + (problem.stashes_weights ? team.in_flight - 1 : 0);
  return copies * load.parameter_bytes + team.in_flight * load.kept_bytes;
}

class Programme {
 public:
  explicit Programme(const PartitionProblem& problem)
      : problem_(problem),
        layers_(static_cast<int>(problem.layers.size())),
        ranks_(static_cast<int>(problem.ranks.size())),
        most_replicas_(std::min(ranks_, problem.most_replicas)) {
    for (Rank rank = 0; rank < ranks_; ++rank) {
      for (int m = 1; m <= most_replicas_; ++m) {
        teams_.push_back(rank + m <= ranks_ ? team_of(problem, rank, m) : Team());
        for (int next = 1; next <= most_replicas_; ++next) {
          const bool is_possible = rank + m + next <= ranks_;
          links_.push_back(is_possible
                               ? worst_between(problem.topology, rank, rank + m, rank + m, rank + m + next)
                               : Link{kNever, 0});
        }
      }
    }
  }

  std::optional<Partition> solve() {
    if (layers_ == 0 || ranks_ == 0) return {};
    fill([](Seconds a, Seconds b) { return std::max(a, b); });
    const Seconds bottleneck = at(0, 0, best_replicas()).value;
    if (bottleneck == kNever) return {};
    limit_ = bottleneck * (1 + kRounding);
    fill([](Seconds a, Seconds b) { return a + b; });
    return Partition{chosen(), bottleneck};
  }

 private:
  // The best partition of the layers and ranks from somewhere on whose first stage has so many replicas.
  struct Entry {
    Seconds value = kNever;
    int end_layer = 0;
    int next_replicas = 0;  // Of the second stage; 0: there is none.
  };

  static std::size_t place(int a, int b) { return static_cast<std::size_t>(a) * static_cast<std::size_t>(b); }
  std::size_t team_index(Rank rank, int replicas) const {
    return place(rank, most_replicas_) + static_cast<std::size_t>(replicas - 1);
  }
  const Link& link(Rank rank, int replicas, int next) const {
    const auto width = static_cast<std::size_t>(most_replicas_);
    return links_[team_index(rank, replicas) * width + static_cast<std::size_t>(next - 1)];
  }
  Entry& at(int layer, Rank rank, int replicas) {
    return table_[place(layer, ranks_ * most_replicas_) + team_index(rank, replicas)];
  }

  template <typename Join>
  void fill(Join join) {
    table_.assign(place(layers_, ranks_ * most_replicas_), {});
    for (int layer = layers_ - 1; layer >= 0; --layer) {
      for (Rank rank = ranks_ - 1; rank >= 0; --rank) {
        for (int m = 1; m <= std::min(ranks_ - rank, most_replicas_); ++m) find_best(layer, rank, m, join);
      }
    }
  }

  template <typename Join>
  void find_best(int layer, Rank rank, int replicas, Join join) {
    Entry& best = at(layer, rank, replicas);
    const Team& team = teams_[team_index(rank, replicas)];
    const Rank next_rank = rank + replicas;
    Load load;
    for (int end = layer + 1; end <= layers_; ++end) {
      const LayerCost& last = problem_.layers[static_cast<std::size_t>(end - 1)];
      load.add(last);
      const Seconds own = time_of(load, team);
      const bool fits = memory_of(problem_, load, team) <= team.memory_bytes;
      if (!fits || own > limit_ || own >= best.value) break;  // Further layers only add to it.
      if (end == layers_ && next_rank == ranks_) best = {own, end, 0};
      if (end == layers_ || next_rank == ranks_) continue;
      for (int next = 1; next <= std::min(ranks_ - next_rank, most_replicas_); ++next) {
        const Seconds transfer = 2 * time_of(link(rank, replicas, next), last.output_bytes);
        if (transfer > limit_) continue;
        const Seconds value = join(own, join(transfer, at(end, next_rank, next).value));
        if (value < best.value) best = {value, end, next};
      }
    }
  }

  int best_replicas() {
    int best = 1;
    for (int m = 2; m <= most_replicas_; ++m) {
      if (at(0, 0, m).value < at(0, 0, best).value) best = m;
    }
    return best;
  }

  std::vector<PlannedStage> chosen() {
    std::vector<PlannedStage> stages;
    int layer = 0;
    Rank rank = 0;
    for (int replicas = best_replicas(); replicas > 0;) {
      const Entry& entry = at(layer, rank, replicas);
      stages.push_back({layer, entry.end_layer, rank, replicas});
      layer = entry.end_layer;
      rank += replicas;
      replicas = entry.next_replicas;
    }
    return stages;
  }

  const PartitionProblem& problem_;
  const int layers_;
  const int ranks_;
  const int most_replicas_;
  std::vector<Team> teams_;  // By first rank and size.
  std::vector<Link> links_;  // By first rank and size of a stage, and the size of the next.
  Seconds limit_ = kNever;
  std::vector<Entry> table_;
};

Team team_of(const PartitionProblem& problem, const PlannedStage& stage) {
  return team_of(problem, stage.first_rank, stage.replicas);
}

}  // namespace

Seconds stage_time(const PartitionProblem& problem, const PlannedStage& stage) {
  return time_of(load_of(problem, stage), team_of(problem, stage));
}

Seconds transfer_time(const PartitionProblem& problem, const PlannedStage& from, const PlannedStage& to) {
  const Link link = worst_between(problem.topology, from.first_rank, from.first_rank + from.replicas,
                                  to.first_rank, to.first_rank + to.replicas);
  return 2 * time_of(link, problem.layers[static_cast<std::size_t>(from.end_layer - 1)].output_bytes);
}

double stage_memory(const PartitionProblem& problem, const PlannedStage& stage) {
  return memory_of(problem, load_of(problem, stage), team_of(problem, stage));
}

std::optional<Partition> best_partition(const PartitionProblem& problem) {
  HOCKET_CHECK(static_cast<int>(problem.ranks.size()) == problem.topology.world(),
               "{} ranks on a topology of {}", problem.ranks.size(), problem.topology.world());
  return Programme(problem).solve();
}

}  // namespace hocket
