#pragma once

#include <string_view>

#include "graph/graph.h"

// A pipeline's stages: the parts of a model, in the order in which a sample passes through them. Every node
// belongs to one; the backward nodes of a node to the same, a parameter and its update to that of the first
// node that reads it.
namespace hocket {

// Gives the nodes of a forward graph to `parts` stages. `names` says which layers each of them has, as in
// "conv1,conv2|fc1,fc2" ("blocks.1" is all below that name; the longest name counts); what is not named goes
// where its operands are. Empty: stages of about the same work, cut where little has to travel. Throws
// ConfigError where the model has fewer layers than stages, a stage would be empty, a name is not in the
// model, or a stage needs something of a later one.
void assign_stages(Graph& forward, int parts, std::string_view names);

// Of the node that first reads the source; 0 where nothing does.
int home_stage(const Graph& graph, ValueId source);

// Whether a layer begins with the node: it reads parameters, and does not just add to a layer's result or
// scale it, which is computed with that layer.
bool begins_layer(const Graph& graph, const Node& node);

// Whether `name` is that of `layer` or of something below it.
bool is_within(std::string_view name, std::string_view layer);

// Nodes before which a pipeline is cut well: they begin a layer, and `values`, what the nodes from there on
// need of the ones before, is least. Ascending.
struct CutPoint {
  int node = 0;
  int values = 0;
};
std::vector<CutPoint> cut_points(const Graph& forward);

}  // namespace hocket
