#pragma once

#include "graph/graph.h"

// Operands as they lie in memory: the dimensions of a channels_last image (N, C, H, W) are stored as N, H, W,
// C, and kernels that work on any layout are prepared for the stored order. All image operands of such a node
// have one layout.
namespace hocket {

// The axes of a value of this rank in the order in which they are stored.
std::vector<int> stored_axes(int rank, Layout layout);

Shape stored_shape(const ValueInfo& value);

// True for an operand that spans channels and positions but is not stored as the images that it broadcasts
// to: a kernel can read it only after transposing (1, C, H, W) to the stored order.
bool must_reorder(const ValueInfo& value, Layout layout);

// The shape of an operand that broadcasts to images of `layout`, once it is stored as they are: with ones for
// missing dimensions where it must be permuted.
Shape stored_for_broadcast(const ValueInfo& value, Layout layout);

// One entry per axis, in the order in which the axes are stored.
IntList stored_list(const IntList& list, Layout layout);

}  // namespace hocket
