// Images are stored as channels_last from the first convolution on. Three kinds of operators: those that want
// images so (their image operands are listed below), those that work on any layout as long as all operands
// share it, and the rest, which get plain operands.
#include <algorithm>
#include <array>
#include <map>
#include <span>

#include "graph/operator.h"
#include "graph/passes/passes.h"

namespace hocket {
namespace {

struct ImageOperands {
  std::string_view op;
  std::vector<int> inputs;
  std::vector<int> outputs;
};

const std::vector<ImageOperands>& image_operators() {
  static const std::vector<ImageOperands> kOperators{
      {"conv2d", {0}, {0, 1}},       {"conv2d_dx", {0, 2}, {0}},   {"conv2d_dw", {0, 1, 2}, {}},
      {"max_pool", {0}, {0, 1}},     {"max_pool_dx", {0, 1}, {0}}, {"avg_pool", {0}, {0}},
      {"avg_pool_dx", {0}, {0}},     {"global_avg_pool", {0}, {}}, {"global_avg_pool_dx", {}, {0}},
      {"bn_stats", {0}, {}},         {"bn_apply", {0, 4}, {0}},    {"bn_apply_grad", {0, 1}, {}},
      {"bn_apply_dx", {0, 1}, {0}},  {"bn_stats_dx", {1}, {0}},    {"bn_dx", {0, 1}, {0}},
      {"bn_inference", {0, 5}, {0}},
  };
  return kOperators;
}

constexpr std::array<std::string_view, 19> kFollowers{
    "add",     "sub",     "mul", "div",       "scale",     "relu",         "tanh",
    "sigmoid", "gelu",    "exp", "relu_grad", "tanh_grad", "sigmoid_grad", "gelu_grad",
    "slice",   "unslice", "pad", "concat",    "accumulate"};

class LayoutChoice {
 public:
  explicit LayoutChoice(Graph& graph) : graph_(graph) {}

  void run() {
    std::vector<Node> old = std::move(graph_.nodes());
    graph_.nodes().clear();
    for (Node& node : old) {
      graph_.set_stage(node.stage);
      place(node);
      graph_.nodes().push_back(std::move(node));
    }
    graph_.set_phase(Phase::forward);
    graph_.set_stage(0);
    for (auto& [name, id] : graph_.outputs()) id = in_layout(id, Layout::plain, Phase::forward);
  }

 private:
  bool is_image(ValueId id) const { return graph_.value(id).type.shape.rank() == 4; }

  void place(Node& node) {
    const auto& images = image_operators();
    const auto at = std::find_if(images.begin(), images.end(),
                                 [&](const auto& entry) { return entry.op == node.op->name(); });
    if (at != images.end()) {
      for (const int i : at->inputs) {  // The last may be missing.
        if (static_cast<std::size_t>(i) < node.inputs.size())
          convert(node, static_cast<std::size_t>(i), Layout::channels_last);
      }
      for (const int i : at->outputs) {  // conv2d has its second one with a pool alone.
        if (static_cast<std::size_t>(i) < node.outputs.size())
          mark(node.outputs[static_cast<std::size_t>(i)]);
      }
    } else if (follows(node)) {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) convert(node, i, Layout::channels_last);
      for (const ValueId id : node.outputs) mark(id);
    } else {
      for (std::size_t i = 0; i < node.inputs.size(); ++i) convert(node, i, Layout::plain);
    }
  }

  // True for an operator of any layout whose image operands are already channels_last, the first one at
  // least.
  bool follows(const Node& node) const {
    if (std::find(kFollowers.begin(), kFollowers.end(), node.op->name()) == kFollowers.end()) return false;
    for (const ValueId id : node.outputs) {
      if (!is_image(id) || graph_.value(id).role == Role::gradient) return false;
    }
    return std::any_of(node.inputs.begin(), node.inputs.end(),
                       [&](ValueId id) { return graph_.value(id).layout == Layout::channels_last; });
  }

  void mark(ValueId id) {
    if (is_image(id)) graph_.value(id).layout = Layout::channels_last;
  }

  void convert(Node& node, std::size_t i, Layout layout) {
    if (is_image(node.inputs[i])) node.inputs[i] = in_layout(node.inputs[i], layout, node.phase);
  }

  // `id` in the wanted layout: itself, or a conversion made once per phase-independent value.
  ValueId in_layout(ValueId id, Layout layout, Phase phase) {
    if (graph_.value(id).layout == layout) return id;
    const auto [at, is_new] = converted_.try_emplace({id, layout}, kNoValue);
    if (is_new) {
      graph_.set_phase(phase);
      const std::string_view to = layout == Layout::plain ? "plain" : "channels_last";
      const std::string_view from = layout == Layout::plain ? "channels_last" : "plain";
      const Value result =
          graph_.add("to_layout", {Value(graph_, id)}, {{"from", std::string(from)}, {"to", std::string(to)}},
                     graph_.value(id).name + "." + std::string(to));
      graph_.value(result.id()).layout = layout;
      at->second = result.id();
    }
    return at->second;
  }

  Graph& graph_;
  std::map<std::pair<ValueId, Layout>, ValueId> converted_;
};

}  // namespace

void choose_layouts(Graph& graph) { LayoutChoice(graph).run(); }

}  // namespace hocket
