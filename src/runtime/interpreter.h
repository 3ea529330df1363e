#pragma once

#include <unordered_map>
#include <vector>

#include "graph/graph.h"
#include "runtime/lower.h"
#include "tensor/tensor.h"

// The slow, obviously right way to run a graph: node after node, every result in memory of its own. What the
// planned executable is tested against. A channels_last value has its logical shape, but its elements in the
// stored order.
namespace hocket {

using Sources = std::unordered_map<ValueId, Tensor>;

// All values of the graph, by id. Operators that update in place change the tensors of `sources`.
// Throws ConfigError when a node needs a source that has no tensor, or one of another type.
std::vector<Tensor> evaluate(const Graph& graph, const Sources& sources, KernelSet set);

// Runs one node: reads its inputs from `values` and puts new tensors there for its outputs.
void evaluate_node(const Graph& graph, const Node& node, KernelSet set, std::vector<Tensor>& values);

}  // namespace hocket
