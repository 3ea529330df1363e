#include "graph/operator.h"
#include "graph/passes/passes.h"

namespace hocket {
namespace {

// Adds what computes the results of `node`, a softmax_cross_entropy, and lets the last nodes write its
// values.
void add_split(Graph& graph, const Node& node) {
  const Value logits(graph, node.inputs[0]), label(graph, node.inputs[1]), weight(graph, node.inputs[2]);
  const auto named = [&](std::string_view part) { return node.name + "." + std::string(part); };
  graph.set_phase(node.phase);
  graph.set_stage(node.stage);
  const Value highest =
      graph.add("reduce_max", {logits}, {{"axes", IntList{1}}, {"keep", std::int64_t{1}}}, named("max"));
  const Value operands[] = {logits, highest};
  const std::vector<Value> exps = graph.apply("exp_sum", operands, {}, named("exp"));
  const Value picked = graph.add("pick", {logits, label}, {}, named("pick"));
  graph.add("split_cross_entropy", {highest, exps[1], picked, label, weight}, {{"classes", logits.dim(1)}},
            named("sum"));
  graph.nodes().back().outputs = {node.outputs[0]};
  graph.add("div", {exps[0], exps[1]}, {}, named("probs"));
  graph.nodes().back().outputs = {node.outputs[1]};
}

}  // namespace

void split_losses(Graph& graph) {
  const std::vector<Node> old = std::move(graph.nodes());
  graph.nodes().clear();
  for (const Node& node : old) {
    if (node.op->name() == "softmax_cross_entropy") {
      add_split(graph, node);
    } else {
      graph.nodes().push_back(node);
    }
  }
  graph.set_phase(Phase::forward);
  graph.set_stage(0);
}

}  // namespace hocket
