#include <algorithm>
#include <array>
#include <map>

#include "graph/operator.h"
#include "graph/passes/passes.h"

namespace hocket {
namespace {

constexpr std::array<std::string_view, 5> kProducts{"matmul", "matmul_dw", "conv2d", "conv2d_dx",
                                                    "conv2d_dw"};

}  // namespace

void use_bf16_products(Graph& graph) {
  std::vector<Node> old = std::move(graph.nodes());
  graph.nodes().clear();
  std::map<ValueId, ValueId> rounded;
  const auto in_bf16 = [&](ValueId id, Phase phase) {
    const auto [at, is_new] = rounded.try_emplace(id, kNoValue);
    if (is_new) {
      graph.set_phase(phase);
      const Value copy = graph.add("cast", {Value(graph, id)}, {{"dtype", std::string("bf16")}},
                                   graph.value(id).name + ".bf16");
      graph.value(copy.id()).layout = graph.value(id).layout;
      at->second = copy.id();
    }
    return at->second;
  };
  for (Node& node : old) {
    graph.set_stage(node.stage);
    const bool is_product =
        std::find(kProducts.begin(), kProducts.end(), node.op->name()) != kProducts.end() &&
        node.attributes.integer("pool", 1) == 1;
    for (std::size_t i = 0; is_product && i < 2; ++i) {  // The bias, a third operand, stays f32.
      if (graph.value(node.inputs[i]).type.dtype == DType::f32)
        node.inputs[i] = in_bf16(node.inputs[i], node.phase);
    }
    graph.nodes().push_back(std::move(node));
  }
  graph.set_phase(Phase::forward);
  graph.set_stage(0);
}

}  // namespace hocket
