#pragma once

#include <vector>

#include "graph/placement.h"

// Legal placements that many operators share. `inputs` and `outputs` are numbers of operands.
namespace hocket {

using PlacementRules = std::vector<PlacementRule>;

inline constexpr Placement kReplicated = Replicated{};
inline constexpr Placement kPartialSum = Partial{Reduction::sum};
inline constexpr Placement kPartialMax = Partial{Reduction::max};
inline constexpr Placement kLocal = Local{};
inline constexpr Placement kFlat = Flat{};

constexpr Placement sharded(int dim) { return Sharded{dim}; }

// Every operand lies in the same way.
PlacementRule uniform_rule(int inputs, int outputs, Placement placement);

// Every operand cut along the same dimension, one rule for each in [0, rank).
PlacementRules same_cut(int inputs, int outputs, int rank);

}  // namespace hocket
