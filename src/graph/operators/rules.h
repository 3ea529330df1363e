#pragma once

#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/placement.h"

// Legal placements that many operators share, and what they do to a node's attributes. `inputs` and `outputs`
// are numbers of operands.
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

// The attribute `key`, a whole number, becomes its share among `ranks`.
void divide_attribute(Node& node, std::string_view key, int ranks);

// Entry `dim` of the list `key` becomes its share where `placement` cuts that dimension; -1 stays.
void divide_entry(Node& node, std::string_view key, const Placement& placement, int ranks);

// The attribute `part` says which of equally long parts of a dimension a node works on: 0 by default. Cutting
// the part again makes it a part of more and shorter ones.
void choose_part(Node& node, AxisShare share);

// The attribute `parts`, where a node must also know how many parts there are: 1 by default.
void count_parts(Node& node, AxisShare share);

}  // namespace hocket
