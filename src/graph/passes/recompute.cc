// Re-materialisation (Chen et al. 2016) with one checkpoint a stage: the forward nodes that backward depends
// on are repeated at the beginning of a chunk's backward nodes. Random masks are functions of their key, so
// that they come out alike; what has an effect, such as running statistics, is not repeated.
#include "graph/passes/recompute.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "graph/operator.h"

namespace hocket {
namespace {

bool communicates(const Node& node) {
  const auto names = node.op->attribute_names();
  return node.op->has_effect() || std::find(names.begin(), names.end(), "axis") != names.end();
}

class Recomputation {
 public:
  explicit Recomputation(Graph& graph) : graph_(graph), producers_(producers(graph)) {}

  void run() {
    const std::size_t count = graph_.nodes().size();
    graph_.set_phase(Phase::backward);
    for (std::size_t i = 0; i < count; ++i) {
      if (graph_.nodes()[i].phase != Phase::backward) continue;
      const std::vector<ValueId> inputs = graph_.nodes()[i].inputs;
      for (std::size_t k = 0; k < inputs.size(); ++k) {
        const ValueId again = repeated(inputs[k], graph_.nodes()[i].stage);
        graph_.nodes()[i].inputs[k] = again;
      }
    }
    graph_.set_phase(Phase::forward);
    graph_.set_stage(0);
    move_ahead(count);
  }

 private:
  // The value as backward of its chunk computes it; another chunk reads what forward has kept.
  ValueId repeated(ValueId id, int chunk) {
    const int maker = producers_[static_cast<std::size_t>(id)];
    if (maker < 0) return id;
    const Node node = graph_.nodes()[static_cast<std::size_t>(maker)];  // A copy: the graph grows below.
    if (node.phase != Phase::forward || node.stage != chunk || communicates(node)) return id;
    if (const auto at = repeated_.find(id); at != repeated_.end()) return at->second;
    std::vector<Value> inputs;
    for (const ValueId input : node.inputs) inputs.emplace_back(graph_, repeated(input, chunk));
    graph_.set_stage(node.stage);
    const std::vector<Value> outputs =
        graph_.apply(node.op->name(), inputs, node.attributes, node.name + ".again");
    for (std::size_t i = 0; i < outputs.size(); ++i) repeated_[node.outputs[i]] = outputs[i].id();
    return repeated_.at(id);
  }

  // The nodes from `first` on go to the beginning of backward, each chunk's to its own, behind what that
  // receives.
  void move_ahead(std::size_t first) {
    std::vector<Node> ordered;
    std::unordered_map<int, bool> has_begun;  // By chunk.
    const std::vector<Node>& nodes = graph_.nodes();
    for (std::size_t i = 0; i < first; ++i) {
      const bool begins = nodes[i].phase == Phase::backward && nodes[i].op->name() != "receive" &&
                          !std::exchange(has_begun[nodes[i].stage], true);
      for (std::size_t k = first; begins && k < nodes.size(); ++k) {
        if (nodes[k].stage == nodes[i].stage) ordered.push_back(nodes[k]);
      }
      ordered.push_back(nodes[i]);
    }
    graph_.nodes() = std::move(ordered);
  }

  Graph& graph_;
  std::vector<int> producers_;
  std::unordered_map<ValueId, ValueId> repeated_;
};

}  // namespace

void recompute_activations(Graph& graph) { Recomputation(graph).run(); }

}  // namespace hocket
