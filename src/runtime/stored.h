#pragma once

#include "graph/graph.h"

// Operands as they lie in memory: the dimensions of a channels_last image (N, C, H, W) are stored as N, H, W,
// C, and kernels that work on any layout are prepared for the stored order. All image operands of such a node
// have one layout.
namespace hocket {

// The axes of a value of this rank in the order in which they are stored.
std::vector<int> stored_axes(int rank, Layout layout);

Shape stored_shape(const ValueInfo& value);

// The shape of an operand that broadcasts against images of `layout`, padded with ones to their rank where it
// must be permuted. Throws ConfigError for an operand that spans channels and positions but is not stored as
// the images are.
Shape stored_for_broadcast(const ValueInfo& value, Layout layout);

// One entry per axis, in the order in which the axes are stored.
IntList stored_list(const IntList& list, Layout layout);

}  // namespace hocket
