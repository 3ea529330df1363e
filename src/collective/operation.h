#pragma once

#include <cstddef>
#include <span>
#include <string>

#include "collective/collective.h"
#include "net/transport.h"
#include "tensor/dtype.h"
#include "tensor/fold.h"

namespace hocket {

// One collective on real memory, as collective.h defines what `data` and `input` hold.
struct Operation {
  Collective collective = Collective::all_reduce;
  Algorithm algorithm = Algorithm::automatic;
  Reduction reduction = Reduction::sum;
  DType dtype = DType::f32;
  Rank root = 0;
  std::byte* data = nullptr;
  const std::byte* input = nullptr;          // Of all_to_all.
  std::size_t count = 0;                     // Elements of `data`.
  std::span<const std::size_t> blocks = {};  // As Call::blocks.

  std::size_t element_bytes() const { return size_of(dtype); }
};

Fold fold_of(Reduction reduction);  // mean is a sum that is divided at the end.

// The fingerprint of a message: everything that all ranks of a group must agree on. All ranks of a group make
// the same labels in the same order, so a rank that calls something else is found at the first message.
Label label_of(const Operation& operation, unsigned group, unsigned sequence, unsigned round = 0,
               unsigned rounds = 0);

// As in "all_reduce #412 of group 0, 262144 f32, sum, ring, round 3 of 6".
std::string text_of(const Label& label);

}  // namespace hocket
