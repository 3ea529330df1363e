#include "graph/passes/csr_updates.h"

#include <algorithm>

namespace hocket {
namespace {

int uses_of(const Graph& graph, ValueId id) {
  int uses = 0;
  for (const Node& node : graph.nodes())
    uses += static_cast<int>(std::count(node.inputs.begin(), node.inputs.end(), id));
  for (const auto& [name, output] : graph.outputs()) uses += output == id ? 1 : 0;
  return uses;
}

Node* producer_of(Graph& graph, ValueId id) {
  for (Node& node : graph.nodes()) {
    if (std::find(node.outputs.begin(), node.outputs.end(), id) != node.outputs.end()) return &node;
  }
  return nullptr;
}

// sgd(w, g, hyper) or adagrad(w, g, hyper, a).
bool is_plain_update(const Node& node) {
  const bool is_sgd = node.op->name() == "sgd" && node.inputs.size() == 3;
  const bool is_adagrad = node.op->name() == "adagrad" && node.inputs.size() == 4;
  return (is_sgd || is_adagrad) && node.attributes.real("decay", 0) == 0;
}

// Takes the operands of the product that made the gradient in the place of the gradient.
bool update_from_entries(Graph& graph, Node& update) {
  const ValueId gradient = update.inputs[1];
  Node* product = producer_of(graph, gradient);
  const bool is_from_csr = product != nullptr && product->op->name() == "csr_matmul_dw" &&
                           product->attributes.integer("part", 0) == 0;
  if (!is_from_csr || graph.value(gradient).type.shape[1] != 1 || uses_of(graph, gradient) != 1) return false;
  std::vector<ValueId> inputs{update.inputs[0]};
  inputs.insert(inputs.end(), product->inputs.begin(), product->inputs.end());
  inputs.insert(inputs.end(), update.inputs.begin() + 2, update.inputs.end());
  update.inputs = std::move(inputs);
  const bool has_state = update.op->name() == "adagrad";
  update.op = find_operator(has_state ? "adagrad_csr" : "sgd_csr");
  const double eps = update.attributes.real("eps", 1e-10);
  update.attributes = {};
  if (has_state) update.attributes.set("eps", eps);
  graph.value(gradient).role = Role::activation;  // Now dead.
  return true;
}

}  // namespace

void update_from_csr(Graph& graph, std::span<Gradient> gradients) {
  for (Node& node : graph.nodes()) {
    if (!is_plain_update(node)) continue;
    const ValueId gradient = node.inputs[1];
    if (!update_from_entries(graph, node)) continue;
    for (Gradient& entry : gradients) {
      if (entry.value && entry.value.id() == gradient) entry = {};
    }
  }
}

}  // namespace hocket
