#include "collective/collective.h"

#include <algorithm>
#include <array>
#include <numeric>
#include <utility>

#include "base/error.h"
#include "collective/algorithms/algorithms.h"
#include "collective/blocks.h"

namespace hocket {
namespace {

template <typename T>
using NameOf = std::pair<T, std::string_view>;

constexpr std::array kCollectiveNames = {
    NameOf<Collective>{Collective::broadcast, "broadcast"},
    NameOf<Collective>{Collective::reduce, "reduce"},
    NameOf<Collective>{Collective::all_reduce, "all_reduce"},
    NameOf<Collective>{Collective::gather, "gather"},
    NameOf<Collective>{Collective::all_gather, "all_gather"},
    NameOf<Collective>{Collective::scatter, "scatter"},
    NameOf<Collective>{Collective::reduce_scatter, "reduce_scatter"},
    NameOf<Collective>{Collective::all_to_all, "all_to_all"},
    NameOf<Collective>{Collective::barrier, "barrier"},
};

constexpr std::array kReductionNames = {
    NameOf<Reduction>{Reduction::sum, "sum"},   NameOf<Reduction>{Reduction::product, "product"},
    NameOf<Reduction>{Reduction::max, "max"},   NameOf<Reduction>{Reduction::min, "min"},
    NameOf<Reduction>{Reduction::mean, "mean"},
};

constexpr std::array kAlgorithmNames = {
    NameOf<Algorithm>{Algorithm::automatic, "auto"},
    NameOf<Algorithm>{Algorithm::direct, "direct"},
    NameOf<Algorithm>{Algorithm::master, "master"},
    NameOf<Algorithm>{Algorithm::exchange, "exchange"},
    NameOf<Algorithm>{Algorithm::sharded, "sharded"},
    NameOf<Algorithm>{Algorithm::binomial, "binomial"},
    NameOf<Algorithm>{Algorithm::recursive_doubling, "recursive_doubling"},
    NameOf<Algorithm>{Algorithm::halving_doubling, "halving_doubling"},
    NameOf<Algorithm>{Algorithm::naive_ring, "naive_ring"},
    NameOf<Algorithm>{Algorithm::ring, "ring"},
    NameOf<Algorithm>{Algorithm::segmented_ring, "segmented_ring"},
    NameOf<Algorithm>{Algorithm::double_tree, "double_tree"},
    NameOf<Algorithm>{Algorithm::hierarchical, "hierarchical"},
    NameOf<Algorithm>{Algorithm::ring_2d, "ring_2d"},
    NameOf<Algorithm>{Algorithm::hypercube, "hypercube"},
    NameOf<Algorithm>{Algorithm::bruck, "bruck"},
};

template <typename T, std::size_t n>
constexpr std::array<T, n> values_of(const std::array<NameOf<T>, n>& names) {
  std::array<T, n> values{};
  for (std::size_t i = 0; i < n; ++i) values[i] = names[i].first;
  return values;
}

constexpr auto kCollectives = values_of(kCollectiveNames);
constexpr auto kAlgorithms = values_of(kAlgorithmNames);

template <typename T, std::size_t n>
std::string_view name_in(const std::array<NameOf<T>, n>& names, T value) {
  for (const NameOf<T>& entry : names) {
    if (entry.first == value) return entry.second;
  }
  HOCKET_CHECK(false, "no name for {}", static_cast<int>(value));
}

template <typename T, std::size_t n>
std::optional<T> find_in(const std::array<NameOf<T>, n>& names, std::string_view name) {
  for (const NameOf<T>& entry : names) {
    if (entry.second == name) return entry.first;
  }
  return std::nullopt;
}

enum class Worlds : std::uint8_t { any, powers_of_two };
enum class Cuts : std::uint8_t { any, even };  // Whether Call::blocks may be given.

// One way to carry out a collective.
struct Way {
  Collective collective;
  Algorithm algorithm;
  Builder build;
  Worlds worlds = Worlds::any;
  Cuts cuts = Cuts::any;
};

constexpr std::array kWays = {
    Way{Collective::broadcast, Algorithm::direct, master_broadcast},
    Way{Collective::broadcast, Algorithm::master, master_broadcast},
    Way{Collective::broadcast, Algorithm::binomial, binomial_broadcast},
    Way{Collective::broadcast, Algorithm::naive_ring, naive_ring_broadcast},
    Way{Collective::broadcast, Algorithm::segmented_ring, segmented_ring_broadcast},
    Way{Collective::broadcast, Algorithm::double_tree, double_tree_broadcast},

    Way{Collective::reduce, Algorithm::direct, sharded_reduce},
    Way{Collective::reduce, Algorithm::master, master_reduce},
    Way{Collective::reduce, Algorithm::sharded, sharded_reduce},
    Way{Collective::reduce, Algorithm::binomial, binomial_reduce},
    Way{Collective::reduce, Algorithm::naive_ring, naive_ring_reduce},
    Way{Collective::reduce, Algorithm::segmented_ring, segmented_ring_reduce},
    Way{Collective::reduce, Algorithm::double_tree, double_tree_reduce},

    Way{Collective::all_reduce, Algorithm::direct, sharded_all_reduce},
    Way{Collective::all_reduce, Algorithm::master, master_all_reduce},
    Way{Collective::all_reduce, Algorithm::exchange, exchange_all_reduce},
    Way{Collective::all_reduce, Algorithm::sharded, sharded_all_reduce},
    Way{Collective::all_reduce, Algorithm::binomial, binomial_all_reduce},
    Way{Collective::all_reduce, Algorithm::recursive_doubling, recursive_doubling_all_reduce},
    Way{Collective::all_reduce, Algorithm::halving_doubling, halving_doubling_all_reduce},
    Way{Collective::all_reduce, Algorithm::naive_ring, naive_ring_all_reduce},
    Way{Collective::all_reduce, Algorithm::ring, ring_all_reduce},
    Way{Collective::all_reduce, Algorithm::segmented_ring, segmented_ring_all_reduce},
    Way{Collective::all_reduce, Algorithm::double_tree, double_tree_all_reduce},
    Way{Collective::all_reduce, Algorithm::hierarchical, hierarchical_all_reduce},
    Way{Collective::all_reduce, Algorithm::ring_2d, ring_2d_all_reduce},

    Way{Collective::gather, Algorithm::direct, master_gather},
    Way{Collective::gather, Algorithm::master, master_gather},
    Way{Collective::gather, Algorithm::binomial, binomial_gather},

    Way{Collective::all_gather, Algorithm::direct, exchange_all_gather},
    Way{Collective::all_gather, Algorithm::exchange, exchange_all_gather},
    Way{Collective::all_gather, Algorithm::sharded, exchange_all_gather},
    Way{Collective::all_gather, Algorithm::recursive_doubling, hypercube_all_gather, Worlds::powers_of_two},
    Way{Collective::all_gather, Algorithm::ring, ring_all_gather},
    Way{Collective::all_gather, Algorithm::hypercube, hypercube_all_gather, Worlds::powers_of_two},
    Way{Collective::all_gather, Algorithm::bruck, bruck_all_gather},

    Way{Collective::scatter, Algorithm::direct, master_scatter},
    Way{Collective::scatter, Algorithm::master, master_scatter},
    Way{Collective::scatter, Algorithm::binomial, binomial_scatter},

    Way{Collective::reduce_scatter, Algorithm::direct, sharded_reduce_scatter},
    Way{Collective::reduce_scatter, Algorithm::exchange, sharded_reduce_scatter},
    Way{Collective::reduce_scatter, Algorithm::sharded, sharded_reduce_scatter},
    Way{Collective::reduce_scatter, Algorithm::halving_doubling, halving_reduce_scatter,
        Worlds::powers_of_two},
    Way{Collective::reduce_scatter, Algorithm::ring, ring_reduce_scatter},

    Way{Collective::all_to_all, Algorithm::direct, exchange_all_to_all},
    Way{Collective::all_to_all, Algorithm::exchange, exchange_all_to_all},
    Way{Collective::all_to_all, Algorithm::bruck, bruck_all_to_all, Worlds::any, Cuts::even},

    Way{Collective::barrier, Algorithm::direct, bruck_barrier},
    Way{Collective::barrier, Algorithm::master, master_barrier},
    Way{Collective::barrier, Algorithm::binomial, binomial_barrier},
    Way{Collective::barrier, Algorithm::bruck, bruck_barrier},
};

const Way* find_way(Collective collective, Algorithm algorithm) {
  const auto* way = std::find_if(kWays.begin(), kWays.end(), [&](const Way& candidate) {
    return candidate.collective == collective && candidate.algorithm == algorithm;
  });
  return way == kWays.end() ? nullptr : way;
}

bool has_fitting_blocks(const Call& call) {
  const auto world = static_cast<std::size_t>(call.world);
  if (call.blocks.empty()) return true;
  if (call.collective == Collective::all_to_all) return call.blocks.size() == world * world;
  return is_cut_into_blocks(call.collective) && call.blocks.size() == world &&
         std::accumulate(call.blocks.begin(), call.blocks.end(), std::size_t{0}) == call.count;
}

// A number below `world` for every rank, or none at all.
bool has_fitting_groups(const Call& call) {
  if (call.group_of.empty()) return true;
  return call.group_of.size() == static_cast<std::size_t>(call.world) &&
         std::all_of(call.group_of.begin(), call.group_of.end(),
                     [&](Rank group) { return group >= 0 && group < call.world; });
}

}  // namespace

bool has_root(Collective collective) {
  return collective == Collective::broadcast || collective == Collective::reduce ||
         collective == Collective::gather || collective == Collective::scatter;
}

bool reduces(Collective collective) {
  return collective == Collective::reduce || collective == Collective::all_reduce ||
         collective == Collective::reduce_scatter;
}

bool is_cut_into_blocks(Collective collective) {
  switch (collective) {
    case Collective::gather:
    case Collective::all_gather:
    case Collective::scatter:
    case Collective::reduce_scatter:
    case Collective::all_to_all: return true;
    default: return false;
  }
}

std::string_view name_of(Collective collective) { return name_in(kCollectiveNames, collective); }
std::string_view name_of(Reduction reduction) { return name_in(kReductionNames, reduction); }
std::string_view name_of(Algorithm algorithm) { return name_in(kAlgorithmNames, algorithm); }

std::optional<Collective> find_collective(std::string_view name) { return find_in(kCollectiveNames, name); }
std::optional<Reduction> find_reduction(std::string_view name) { return find_in(kReductionNames, name); }
std::optional<Algorithm> find_algorithm(std::string_view name) { return find_in(kAlgorithmNames, name); }

std::span<const Collective> all_collectives() { return kCollectives; }
std::span<const Algorithm> all_algorithms() { return kAlgorithms; }

bool supports(const Call& call) {
  const Way* way = find_way(call.collective, call.algorithm);
  if (way == nullptr || call.world < 1 || call.root < 0 || call.root >= call.world) return false;
  if (way->worlds == Worlds::powers_of_two && !is_power_of_two(call.world)) return false;
  if (way->cuts == Cuts::even && !call.blocks.empty()) return false;
  return has_fitting_groups(call) && has_fitting_blocks(call);
}

Schedule schedule_of(const Call& call, Rank me) {
  HOCKET_CHECK(supports(call) && me >= 0 && me < call.world, "rank {}: {} by {} in a world of {}", me,
               name_of(call.collective), name_of(call.algorithm), call.world);
  if (call.world == 1 && call.collective != Collective::all_to_all) return {};
  return find_way(call.collective, call.algorithm)->build(call, me);
}

std::size_t data_size(const Call& call, Rank me) { return data_blocks(call, me).count(); }

std::size_t input_size(const Call& call, Rank me) {
  return call.collective == Collective::all_to_all ? input_blocks(call, me).count() : 0;
}

bool keeps_rank_order(Algorithm algorithm) {
  switch (algorithm) {
    case Algorithm::direct:
    case Algorithm::master:
    case Algorithm::exchange:
    case Algorithm::sharded: return true;
    default: return false;
  }
}

}  // namespace hocket
