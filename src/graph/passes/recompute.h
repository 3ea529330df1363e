#pragma once

#include "graph/graph.h"

namespace hocket {

// Lets backward compute the activations that it reads anew, from the inputs of the graph and from what other
// ranks have sent, so that nothing else lives from forward to backward. What communicates is kept, not
// repeated. For a whole step, before fusion.
void recompute_activations(Graph& graph);

}  // namespace hocket
