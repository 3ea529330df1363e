#pragma once

#include <cstddef>
#include <vector>

#include "collective/collective.h"
#include "collective/schedule.h"

namespace hocket {

// Elements of a peer's shared memory that a rank copies: from `offset` of what the peer shows to `range` of
// its own data.
struct Pull {
  Rank from;
  std::size_t offset;
  Range range;
};

// What one rank does in a call, prepared once and used by every operation of that kind and size. Immutable.
struct Plan {
  Plan(Call call, Rank me);

  Call call;
  Schedule schedule;        // What is sent; with `direct`, what moving it straight comes to.
  Range mine;               // This rank's block of `data`.
  std::size_t input_count;  // Elements of `input` (all_to_all).
  std::vector<Pull> pulls;  // What `direct` copies in a collective that does not reduce, nearest peers first.
};

}  // namespace hocket
