#pragma once

#include <functional>
#include <string>

#include "graph/graph.h"

namespace hocket {

// The graph in Graphviz's language: a box a node, filled where it communicates, grouped by phase; an ellipse
// a source; types on the edges, and below them what `note` says of the value, if anything.
std::string print_dot(const Graph& graph, const std::function<std::string(ValueId)>& note = {});

}  // namespace hocket
