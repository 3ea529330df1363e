#include <unordered_map>

#include "base/error.h"
#include "graph/operator.h"
#include "graph/passes/passes.h"

namespace hocket {
namespace {

using Replacements = std::unordered_map<ValueId, ValueId>;

void replace_inputs(Node& node, const Replacements& replacements) {
  for (ValueId& id : node.inputs) {
    const auto at = replacements.find(id);
    if (at != replacements.end()) id = at->second;
  }
}

// bn_running(stats, mean, variance): where to find the running statistics of each `stats`.
std::unordered_map<ValueId, const Node*> running_statistics(const Graph& graph) {
  std::unordered_map<ValueId, const Node*> result;
  for (const Node& node : graph.nodes()) {
    if (node.op->name() == "bn_running") result[node.inputs[0]] = &node;
  }
  return result;
}

}  // namespace

std::unique_ptr<Graph> for_inference(const Graph& graph) {
  std::unique_ptr<Graph> copy = graph.clone();
  const auto running = running_statistics(graph);
  Replacements replacements;
  std::vector<Node> kept;
  for (Node& node : copy->nodes()) {
    replace_inputs(node, replacements);
    if (node.op->name() == "dropout") {
      replacements[node.outputs[0]] = node.inputs[0];
      continue;
    }
    if (node.op->name() == "bn_running") continue;
    if (node.op->name() == "bn_apply") {  // (x, stats, gamma, beta, [residual])
      const auto at = running.find(node.inputs[1]);
      if (at == running.end()) {
        throw ConfigError(
            "node {}: no bn_running keeps running statistics of {}, so the model cannot be evaluated",
            node.name, graph.value(node.inputs[1]).name);
      }
      node.op = find_operator("bn_inference");
      node.inputs[1] = at->second->inputs[2];
      node.inputs.insert(node.inputs.begin() + 1, at->second->inputs[1]);
    }
    kept.push_back(node);
  }
  copy->nodes() = std::move(kept);
  for (auto& [name, id] : copy->outputs()) {
    if (replacements.contains(id)) id = replacements.at(id);
  }
  remove_dead_nodes(*copy);
  return copy;
}

}  // namespace hocket
