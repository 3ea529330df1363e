#pragma once

#include <bit>
#include <cstddef>

#include "collective/blocks.h"
#include "collective/collective.h"
#include "collective/schedule.h"

namespace hocket {

// The builders. Each is a pure function of the call and the rank; rounds, bytes and the idea stand in its
// source file, closed forms in docs/ALGORITHMS.md. P is the world, N the elements of `data`, s(r) those of
// block r. All ranks have the same number of rounds, and a message is sent and received in rounds of the same
// number. A message of no elements is left out on both sides, except in a barrier. No builder allocates in a
// round.

using Builder = Schedule (*)(const Call& call, Rank me);

Schedule master_broadcast(const Call& call, Rank me);
Schedule master_reduce(const Call& call, Rank me);
Schedule master_all_reduce(const Call& call, Rank me);
Schedule master_gather(const Call& call, Rank me);
Schedule master_scatter(const Call& call, Rank me);
Schedule master_barrier(const Call& call, Rank me);

Schedule exchange_all_reduce(const Call& call, Rank me);
Schedule exchange_all_gather(const Call& call, Rank me);
Schedule exchange_all_to_all(const Call& call, Rank me);

Schedule sharded_reduce(const Call& call, Rank me);
Schedule sharded_all_reduce(const Call& call, Rank me);
Schedule sharded_reduce_scatter(const Call& call, Rank me);

Schedule binomial_broadcast(const Call& call, Rank me);
Schedule binomial_reduce(const Call& call, Rank me);
Schedule binomial_all_reduce(const Call& call, Rank me);
Schedule binomial_gather(const Call& call, Rank me);
Schedule binomial_scatter(const Call& call, Rank me);
Schedule binomial_barrier(const Call& call, Rank me);

Schedule recursive_doubling_all_reduce(const Call& call, Rank me);

Schedule halving_doubling_all_reduce(const Call& call, Rank me);
Schedule halving_reduce_scatter(const Call& call, Rank me);  // P = 2^k.

Schedule hypercube_all_gather(const Call& call, Rank me);  // P = 2^k.

Schedule bruck_all_gather(const Call& call, Rank me);
Schedule bruck_all_to_all(const Call& call, Rank me);
Schedule bruck_barrier(const Call& call, Rank me);

Schedule ring_all_reduce(const Call& call, Rank me);
Schedule ring_reduce_scatter(const Call& call, Rank me);
Schedule ring_all_gather(const Call& call, Rank me);
Schedule segmented_ring_all_reduce(const Call& call, Rank me);

Schedule naive_ring_broadcast(const Call& call, Rank me);
Schedule naive_ring_reduce(const Call& call, Rank me);
Schedule naive_ring_all_reduce(const Call& call, Rank me);
Schedule segmented_ring_broadcast(const Call& call, Rank me);
Schedule segmented_ring_reduce(const Call& call, Rank me);

Schedule double_tree_broadcast(const Call& call, Rank me);
Schedule double_tree_reduce(const Call& call, Rank me);
Schedule double_tree_all_reduce(const Call& call, Rank me);

Schedule hierarchical_all_reduce(const Call& call, Rank me);
Schedule ring_2d_all_reduce(const Call& call, Rank me);

// ---- what several builders share ----

// Adds a message, unless it is empty.
inline void add(Round& round, const Action& action) {
  if (action.range.size > 0) round.push_back(action);
}

// A message that only says "I have come".
constexpr Range kSignal = {0, 0};

// Adds to `round` the sum over all ranks, in rank order, of `range`, that every other rank sends to `me`; the
// own contribution is in `data` and is added in its own place. With more than one rank below `me` the sum of
// those is made in scratch [0, range.size) first.
void add_reduce_in_rank_order(Round& round, int world, Rank me, Range range);

// Elements of scratch that add_reduce_in_rank_order() needs.
inline std::size_t scratch_for_rank_order(Rank me, std::size_t size) { return me >= 2 ? size : 0; }

inline int floor_log2(int n) { return std::bit_width(static_cast<unsigned>(n)) - 1; }
inline int ceil_log2(int n) { return std::bit_width(static_cast<unsigned>(n - 1)); }
inline bool is_power_of_two(int n) { return std::has_single_bit(static_cast<unsigned>(n)); }

// `n` (>= -world, < 2 world) modulo `world`.
inline Rank wrap(int n, int world) { return n < 0 ? n + world : n < world ? n : n - world; }

// How many segments `count` elements make; `segment` as in Call.
int segments_of(std::size_t count, std::size_t segment);

}  // namespace hocket
