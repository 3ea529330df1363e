#pragma once

#include "collective/blocks.h"
#include "collective/schedule.h"

namespace hocket {

// Where a rank stands in a ring of some of the ranks.
struct PlaceInRing {
  int size = 1;
  int me = 0;  // Counted in the ring.
  Rank prev = 0;
  Rank next = 0;
};

// Chunk i of `chunks`, which has ring.size of them, belongs to the i-th rank of the ring.
Schedule ring_reduce_scatter(const PlaceInRing& ring, const Blocks& chunks);
Schedule ring_all_gather(const PlaceInRing& ring, const Blocks& chunks);
Schedule ring_all_reduce(const PlaceInRing& ring, const Blocks& chunks);

}  // namespace hocket
