#include <algorithm>

#include "graph/operator.h"
#include "graph/passes/passes.h"

namespace hocket {

void remove_dead_nodes(Graph& graph) {
  std::vector<bool> needed(static_cast<std::size_t>(graph.value_count()), false);
  for (const auto& [name, id] : graph.outputs()) needed[static_cast<std::size_t>(id)] = true;
  for (const ValueId id : graph.values_of(Role::gradient)) needed[static_cast<std::size_t>(id)] = true;

  std::vector<Node> live;
  for (auto node = graph.nodes().rbegin(); node != graph.nodes().rend(); ++node) {
    const bool is_needed = node->op->has_effect() ||
                           std::any_of(node->outputs.begin(), node->outputs.end(),
                                       [&](ValueId id) { return needed[static_cast<std::size_t>(id)]; });
    if (!is_needed) continue;
    for (const ValueId id : node->inputs) needed[static_cast<std::size_t>(id)] = true;
    live.push_back(std::move(*node));
  }
  std::reverse(live.begin(), live.end());
  graph.nodes() = std::move(live);
}

}  // namespace hocket
