#pragma once

#include <string>
#include <variant>
#include <vector>

#include "tensor/reduction.h"

namespace hocket {

// How one logical value lies along one mesh axis.
struct Replicated {  // The same on every rank.
  bool operator==(const Replicated&) const = default;
};
struct Sharded {  // Cut evenly along `dim`.
  int dim = 0;
  bool operator==(const Sharded&) const = default;
};
struct Flat {  // A padded one-dimensional slice of its bucket (ZeRO).
  bool operator==(const Flat&) const = default;
};
struct Partial {  // Terms of a sum, or candidates of a maximum: the other reductions do not occur.
  Reduction reduction = Reduction::sum;
  bool operator==(const Partial&) const = default;
};
struct Local {  // Different on purpose; never converted.
  bool operator==(const Local&) const = default;
};
using Placement = std::variant<Replicated, Sharded, Flat, Partial, Local>;

std::string to_string(const Placement& placement);  // As in "replicated", "sharded(1)", "partial(sum)".

// Where one rank stands along a mesh axis.
struct AxisShare {
  int index = 0;
  int count = 1;
};

// One legal way to run an operator along one mesh axis: where each input must lie, and where each output then
// lies. "Everything replicated" is always legal and is not listed.
struct PlacementRule {
  std::vector<Placement> inputs;
  std::vector<Placement> outputs;
};

}  // namespace hocket
