// Reverse-mode differentiation: nodes are visited from the last to the first; a node's outputs have their
// whole gradient by then, because every user of theirs stands behind it. A value with several users gets the
// sum of what they pass back.
#include "graph/differentiate.h"

#include "base/error.h"
#include "graph/stages.h"

namespace hocket {
namespace {

class Differentiation {
 public:
  explicit Differentiation(Graph& graph)
      : graph_(graph),
        wanted_(static_cast<std::size_t>(graph.value_count()), false),
        gradients_(static_cast<std::size_t>(graph.value_count())) {}

  std::vector<Gradient> run(Value loss) {
    mark_wanted();
    if (loss.shape().rank() != 0) {
      throw ConfigError("the loss {} is {}, expected a scalar", loss.info().name, to_string(loss.type()));
    }
    graph_.set_phase(Phase::backward);
    gradient_of(loss.id()).value = graph_.source("dloss", loss.type(), Role::input);
    for (auto index = static_cast<int>(graph_.nodes().size()) - 1; index >= 0; --index) pass_back(index);
    std::vector<Gradient> result = keep_parameter_gradients();
    graph_.set_phase(Phase::forward);
    graph_.set_stage(0);
    return result;
  }

 private:
  Gradient& gradient_of(ValueId id) { return gradients_[static_cast<std::size_t>(id)]; }
  bool wanted(ValueId id) const { return wanted_[static_cast<std::size_t>(id)]; }

  // Wanted: parameters, and what is computed from them.
  void mark_wanted() {
    for (const ValueId id : graph_.values_of(Role::parameter)) wanted_[static_cast<std::size_t>(id)] = true;
    for (const Node& node : graph_.nodes()) {
      bool depends = false;
      for (const ValueId id : node.inputs) depends = depends || wanted(id);
      for (const ValueId id : node.outputs) wanted_[static_cast<std::size_t>(id)] = depends;
    }
  }

  void pass_back(int index) {
    const Node node = graph_.nodes()[static_cast<std::size_t>(index)];  // A copy: the graph grows below.
    std::vector<Value> dy;
    bool reached = false;
    bool depends = false;
    for (const ValueId id : node.outputs) {
      dy.push_back(gradient_of(id).value);
      reached = reached || static_cast<bool>(dy.back());
      depends = depends || wanted(id);
    }
    if (!reached || !depends) return;
    graph_.set_stage(node.stage);
    const std::vector<Gradient> parts = node.op->gradient(graph_, node, dy);
    HOCKET_CHECK(parts.size() == node.inputs.size(), "{} returned {} gradients", node.op->name(),
                 parts.size());
    for (std::size_t i = 0; i < parts.size(); ++i) {
      if (wanted(node.inputs[i]) && parts[i].value) add_to(node.inputs[i], parts[i]);
    }
  }

  void add_to(ValueId id, const Gradient& part) {
    Gradient& total = gradient_of(id);
    if (!total.value) {
      total = part;
    } else if (total.row_ids || part.row_ids) {
      throw ConfigError("the sparse table {} is used more than once; give each use a table of its own",
                        graph_.value(id).name);
    } else {
      const std::string name = "d." + graph_.value(id).name + ".sum";
      total.value = graph_.add("add", {total.value, part.value}, {}, name);
    }
  }

  // Gives every parameter's gradient a value of its own, kept for the update phase.
  std::vector<Gradient> keep_parameter_gradients() {
    std::vector<Gradient> result;
    for (const ValueId id : graph_.values_of(Role::parameter)) {
      Gradient gradient = gradient_of(id);
      if (gradient.value && gradient.value.info().role != Role::activation) {
        graph_.set_stage(home_stage(graph_, id));
        gradient.value = graph_.add("scale", {gradient.value}, {}, "d." + graph_.value(id).name);
      }
      if (gradient.value) graph_.value(gradient.value.id()).role = Role::gradient;
      if (gradient.row_ids) graph_.value(gradient.row_ids.id()).role = Role::gradient;
      result.push_back(gradient);
    }
    return result;
  }

  Graph& graph_;
  std::vector<bool> wanted_;
  std::vector<Gradient> gradients_;
};

}  // namespace

std::vector<Gradient> differentiate(Graph& graph, Value loss) { return Differentiation(graph).run(loss); }

}  // namespace hocket
