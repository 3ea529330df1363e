#pragma once

#include <span>

#include "graph/graph.h"
#include "graph/operator.h"

namespace hocket {

// Lets sgd and adagrad of a column that sparse rows are multiplied with, without decay or clipping, take the
// gradient straight from the entries of the batch: it is then stored nowhere, and its entry in `gradients` is
// empty. For the step of one rank.
void update_from_csr(Graph& graph, std::span<Gradient> gradients);

}  // namespace hocket
