#pragma once

#include <vector>

#include "graph/graph.h"
#include "graph/operator.h"

namespace hocket {

// Adds to `graph` the nodes (of the backward phase) that compute the gradient of the scalar `loss` with
// respect to every parameter, and returns one gradient per parameter in the order of
// values_of(Role::parameter); it is empty for a parameter that the loss does not depend on. The gradient of
// the loss itself is a new input "dloss", which the runtime sets to 1. Throws ConfigError when an operator on
// the way cannot be differentiated.
std::vector<Gradient> differentiate(Graph& graph, Value loss);

}  // namespace hocket
