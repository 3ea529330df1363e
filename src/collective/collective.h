#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "collective/schedule.h"
#include "net/rank.h"
#include "tensor/reduction.h"

namespace hocket {

// What happens to `data`. P ranks; block r belongs to rank r; all blocks together are `data`, in rank order.
// Of gather, all_gather and scatter only block `me` is defined at the start or the end of a rank that is not
// the root; the rest of `data` may be overwritten.
enum class Collective : std::uint8_t {
  broadcast,       // The root's reaches all.
  reduce,          // The root's becomes the sum; the others' is undefined.
  all_reduce,      // Everyone's becomes the sum.
  gather,          // The root gets everyone's block.
  all_gather,      // Everyone gets everyone's block.
  scatter,         // Rank r gets block r of the root's.
  reduce_scatter,  // Rank r gets block r of the sum.
  all_to_all,      // Block r becomes what rank r had for me: block `me` of its `input`.
  barrier,         // Nobody leaves before all have come in.
};

enum class Algorithm : std::uint8_t {
  automatic,  // Chosen by predicted cost.
  direct,     // Straight out of the peers' shared memory, in rank order. Its schedule is `sharded`'s.
  master,     // Everything through one rank.
  exchange,   // Everyone sends everything to everyone.
  sharded,    // Parameter-server style: rank r owns block r. In rank order.
  binomial,   // Binomial trees.
  recursive_doubling,  // log P rounds of whole vectors.
  halving_doubling,    // Recursive halving, then doubling; binary blocks where P is not a power of two.
  naive_ring,          // The whole vector goes round.
  ring,                // Scatter-reduce, then all-gather.
  segmented_ring,      // The ring with chunks cut into segments that are under way together.
  double_tree,         // Two binary trees, each with half of the data, pipelined.
  hierarchical,        // Inside each host or rack, then across, then inside.
  ring_2d,             // Rings along the rows, then the columns, of a grid.
  hypercube,           // All-gather with P = 2^k.
  bruck,               // All-gather, all-to-all and barrier in ceil(log2 P) rounds, any P.
};

bool has_root(Collective collective);
bool reduces(Collective collective);             // Makes sums.
bool is_cut_into_blocks(Collective collective);  // May have blocks of sizes of their own.

std::string_view name_of(Collective collective);
std::string_view name_of(Reduction reduction);
std::string_view name_of(Algorithm algorithm);
std::optional<Collective> find_collective(std::string_view name);
std::optional<Reduction> find_reduction(std::string_view name);
std::optional<Algorithm> find_algorithm(std::string_view name);

std::span<const Collective> all_collectives();
std::span<const Algorithm> all_algorithms();

// One collective, as every rank of it must call it.
struct Call {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::ring;
  int world = 1;
  std::size_t count = 0;    // Elements of `data`, all blocks together.
  Rank root = 0;            // Of broadcast, reduce, gather, scatter; the master of `master`.
  std::size_t segment = 0;  // Elements in one segment of a pipelined algorithm; 0: a sane default.
  // hierarchical: the group (host, rack) of each rank, a number below `world`. Empty: all are one group.
  std::vector<Rank> group_of = {};
  // The v-variants: elements of each rank's block (all_to_all: P x P, by sender, then receiver; `count` is
  // then ignored). Empty: block r has split_evenly(count, world, r).
  std::vector<std::size_t> blocks = {};
};

// Whether `algorithm` can carry out `call.collective` in a world of that size.
bool supports(const Call& call);

// What rank `me` does. The call must be supported.
Schedule schedule_of(const Call& call, Rank me);

// Elements that the `data` and the `input` of rank `me` must have. Without Call::blocks `data` has `count`;
// `input`, of all_to_all only, then has `world` blocks as large as block `me` of `data` (so `count` where
// that divides evenly).
std::size_t data_size(const Call& call, Rank me);
std::size_t input_size(const Call& call, Rank me);

// Whether the algorithm sums every element in rank order.
bool keeps_rank_order(Algorithm algorithm);

}  // namespace hocket
