#include "graph/gradient_sources.h"

namespace hocket {
namespace {

bool is_sum_along(const Node& node, std::string_view axis) {
  return node.op->name() == "all_reduce" && node.inputs.size() == 1 &&
         node.attributes.text("axis", "") == axis;
}

}  // namespace

GradientSources::GradientSources(const Graph& graph) : graph_(graph), producers_(producers(graph)) {
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    const Node& node = graph.nodes()[i];
    const auto number = static_cast<int>(i);
    if (node.op->name() == "square_sums") squares_ = number;
    if (squares_ >= 0 && is_sum_along(node, "pp") && node.inputs[0] == this->node(squares_).outputs[0])
      stages_sum_ = number;
    if (node.op->name() == "accumulate") {
      accumulations_[node.inputs[0]] = number;
    } else if (node.phase == Phase::update && !node.op->updates().empty()) {
      updates_[node.inputs[0]] = number;
    }
  }
}

std::optional<GradientSource> GradientSources::source_of(ValueId parameter, const Gradient& gradient) const {
  if (!gradient.value || gradient.row_ids) return std::nullopt;
  GradientSource source;
  source.reduction = producers_[static_cast<std::size_t>(gradient.value.id())];
  if (source.reduction < 0 || !is_sum_along(node(source.reduction), "dp")) return std::nullopt;
  source.terms = node(source.reduction).inputs[0];
  if (const auto at = accumulations_.find(source.terms); at != accumulations_.end()) {
    source.accumulation = at->second;
    source.terms = node(at->second).inputs[1];
  }
  source.maker = producers_[static_cast<std::size_t>(source.terms)];
  const auto update = updates_.find(parameter);
  if (source.maker < 0 || update == updates_.end()) return std::nullopt;
  source.update = update->second;
  return source;
}

}  // namespace hocket
