#pragma once

#include <string>

#include "graph/graph.h"

namespace hocket {

// The graph in Graphviz's language: a box a node, grouped by phase; an ellipse a source; types on the edges.
std::string print_dot(const Graph& graph);

}  // namespace hocket
