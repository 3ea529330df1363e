#include "graph/differentiate.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "graph/arena_layout.h"
#include "graph/memory_plan.h"
#include "graph/passes/passes.h"

namespace hocket {
namespace {

int count(const Graph& graph, std::string_view op) {
  int found = 0;
  for (const Node& node : graph.nodes()) found += node.op->name() == op ? 1 : 0;
  return found;
}

// x (4, 6) → fc1 → relu → fc2 → cross-entropy, with the outputs of a model.
Value two_layers(Graph& graph) {
  const Value x = graph.source("x", {DType::f32, {4, 6}}, Role::input);
  const Value w1 = graph.source("w1", {DType::f32, {5, 6}}, Role::parameter);
  const Value b1 = graph.source("b1", {DType::f32, {5}}, Role::parameter);
  const Value w2 = graph.source("w2", {DType::f32, {3, 5}}, Role::parameter);
  const Value h = graph.add("relu", {graph.add("add", {graph.add("matmul", {x, w1}, {{"tb", 1}}), b1})});
  const Value scores = graph.add("matmul", {h, w2}, {{"tb", 1}}, "scores");
  const Value label = graph.source("label", {DType::i32, {4}}, Role::input);
  const Value weight = graph.source("weight", {DType::f32, {4}}, Role::input);
  const Value loss = graph.add("softmax_cross_entropy", {scores, label, weight}, {}, "loss");
  graph.set_output("loss", loss);
  return loss;
}

TEST(Differentiate, GivesEveryParameterAGradientOfItsType) {
  Graph graph;
  const std::vector<Gradient> gradients = differentiate(graph, two_layers(graph));
  const std::vector<ValueId> parameters = graph.values_of(Role::parameter);
  ASSERT_EQ(gradients.size(), parameters.size());
  for (std::size_t i = 0; i < parameters.size(); ++i) {
    EXPECT_EQ(gradients[i].value.type(), graph.value(parameters[i]).type);
    EXPECT_EQ(gradients[i].value.info().role, Role::gradient);
  }
}

TEST(Differentiate, DoesNotComputeTheGradientOfTheInput) {
  Graph graph;
  differentiate(graph, two_layers(graph));
  remove_dead_nodes(graph);
  int backward_products = 0;
  for (const Node& node : graph.nodes()) {
    backward_products += node.phase == Phase::backward && node.op->name().starts_with("matmul") ? 1 : 0;
  }
  EXPECT_EQ(backward_products, 3);  // Two weights and the hidden layer, not x.
}

TEST(Differentiate, AddsTheGradientsOfAParameterUsedTwice) {
  Graph graph;
  const Value w = graph.source("w", {DType::f64, {3}}, Role::parameter);
  const Value square = graph.add("mul", {w, w});
  const Value loss = graph.add("reduce_sum", {square}, {{"axes", IntList{0}}});
  const std::vector<Gradient> gradients = differentiate(graph, loss);
  EXPECT_EQ(gradients[0].value.type(), w.type());
  EXPECT_EQ(count(graph, "add"), 1);
}

TEST(Differentiate, RefusesALossThatIsNotAScalar) {
  Graph graph;
  const Value w = graph.source("w", {DType::f32, {3}}, Role::parameter);
  EXPECT_THROW(differentiate(graph, graph.add("relu", {w})), ConfigError);
}

TEST(Fuse, FoldsBiasAndReluIntoTheProduct) {
  Graph graph;
  two_layers(graph);
  remove_dead_nodes(graph);
  fuse(graph);
  EXPECT_EQ(count(graph, "add"), 0);
  EXPECT_EQ(count(graph, "relu"), 0);
  const Node& first = graph.nodes().front();
  EXPECT_EQ(first.inputs.size(), 3U);
  EXPECT_EQ(first.attributes.text("act", "none"), "relu");
}

TEST(Fuse, LeavesAValueThatSomebodyElseUses) {
  Graph graph;
  const Value x = graph.source("x", {DType::f32, {4, 6}}, Role::input);
  const Value w = graph.source("w", {DType::f32, {6, 5}}, Role::parameter);
  const Value product = graph.add("matmul", {x, w});
  graph.set_output("product", product);
  graph.set_output("relu", graph.add("relu", {product}));
  fuse(graph);
  EXPECT_EQ(count(graph, "relu"), 1);
}

TEST(Fuse, MasksTheGradientOfAPoolBeforeItGrows) {
  Graph graph;
  const Value x = graph.source("x", {DType::f32, {2, 3, 8, 8}}, Role::input);
  const Value w = graph.source("w", {DType::f32, {4, 3, 3, 3}}, Role::parameter);
  const Value y = graph.add("relu", {graph.add("conv2d", {x, w}, {{"padding", 1}})});
  const Value pooled = graph.add("max_pool", {y}, {{"kernel", 2}});
  const Value loss = graph.add("reduce_sum", {pooled}, {{"axes", IntList{0, 1, 2, 3}}});
  graph.set_output("loss", loss);
  differentiate(graph, loss);
  remove_dead_nodes(graph);
  fuse(graph);
  for (const Node& node : graph.nodes()) {
    const Type type = node.outputs.empty() ? Type() : graph.value(node.outputs[0]).type;
    EXPECT_TRUE(node.op->name() != "relu_grad" || type == pooled.type());
    EXPECT_TRUE(node.op->name() != "max_pool_dx" || type == y.type());
  }
  EXPECT_EQ(count(graph, "relu_grad"), 1);
}

// x → conv → relu → pool → conv → relu → pool, as small networks for images begin.
Value two_pools(Graph& graph, std::int64_t stride) {
  Value x = graph.source("x", {DType::f32, {2, 3, 8, 8}}, Role::input);
  for (const std::string name : {"first", "second"}) {
    const Value w = graph.source(name + ".w", {DType::f32, {3, 3, 3, 3}}, Role::parameter);
    const Value y = graph.add("relu", {graph.add("conv2d", {x, w}, {{"padding", 1}})}, {}, name);
    x = graph.add("max_pool", {y}, {{"kernel", 2}, {"stride", stride}});
  }
  const Value loss = graph.add("reduce_sum", {x}, {{"axes", IntList{0, 1, 2, 3}}});
  graph.set_output("loss", loss);
  return loss;
}

std::vector<Type> types_of(const Graph& graph, std::span<const ValueId> values) {
  std::vector<Type> types;
  for (const ValueId id : values) types.push_back(graph.value(id).type);
  return types;
}

void fuse_all(Graph& graph) {
  remove_dead_nodes(graph);
  fuse(graph);
  fuse_pools(graph);
}

TEST(FusePools, LeavesNoImageBetweenAConvolutionAndItsPool) {
  Graph graph;
  differentiate(graph, two_pools(graph, 2));
  fuse_all(graph);
  EXPECT_EQ(count(graph, "max_pool"), 0);
  EXPECT_EQ(count(graph, "max_pool_dx"), 0);
  EXPECT_EQ(count(graph, "conv2d"), 2);
  EXPECT_EQ(count(graph, "conv2d_dw"), 2);
  for (const Node& node : graph.nodes()) {
    if (!node.op->name().starts_with("conv2d")) continue;
    EXPECT_EQ(node.attributes.integer("pool", 1), 2) << node.name;
    EXPECT_EQ(node.op->infer(node, types_of(graph, node.inputs)), types_of(graph, node.outputs)) << node.name;
  }
}

TEST(FusePools, LeavesWindowsThatOverlap) {
  Graph graph;
  differentiate(graph, two_pools(graph, 1));
  fuse_all(graph);
  EXPECT_EQ(count(graph, "max_pool"), 2);
  EXPECT_EQ(count(graph, "max_pool_dx"), 2);
}

TEST(FusePools, LeavesAGradientThatNoNodeReads) {
  Graph graph;
  const Value x = graph.source("x", {DType::f32, {2, 3, 8, 8}}, Role::parameter);
  const Value pooled = graph.add("max_pool", {x}, {{"kernel", 2}});
  const Value loss = graph.add("reduce_sum", {pooled}, {{"axes", IntList{0, 1, 2, 3}}});
  graph.set_output("loss", loss);
  differentiate(graph, loss);
  fuse_all(graph);
  EXPECT_EQ(count(graph, "max_pool"), 1);
  EXPECT_EQ(count(graph, "max_pool_dx"), 1);
}

TEST(FusePools, LeavesImagesThatSomebodyElseReads) {
  Graph graph;
  const Value loss = two_pools(graph, 2);
  graph.set_output("image", graph.add("tanh", {graph.find("first")}));
  differentiate(graph, loss);
  fuse_all(graph);
  EXPECT_EQ(count(graph, "max_pool"), 1);
  EXPECT_EQ(count(graph, "max_pool_dx"), 0);
}

// x → conv → bn → relu → conv → bn + x → relu, twice: what a residual network is made of.
TEST(Fuse, TakesResidualsAndMasksIntoBatchNorm) {
  Graph graph;
  const Value weight = graph.source("weight", {DType::f32, {2}}, Role::input);
  int layer = 0;
  const auto normalise = [&](Value x) {
    const std::string name = std::to_string(layer++);
    const Value w = graph.source("w" + name, {DType::f32, {3, 3, 1, 1}}, Role::parameter);
    const Value gamma = graph.source("gamma" + name, {DType::f32, {3}}, Role::parameter);
    const Value beta = graph.source("beta" + name, {DType::f32, {3}}, Role::parameter);
    const Value y = graph.add("conv2d", {x, w});
    return graph.add("bn_apply", {y, graph.add("bn_stats", {y, weight}), gamma, beta});
  };
  Value x = graph.source("x", {DType::f32, {2, 3, 8, 8}}, Role::input);
  for (int block = 0; block < 2; ++block) {
    const Value inner = graph.add("relu", {normalise(x)});
    x = graph.add("relu", {graph.add("add", {normalise(inner), x})});
  }
  const Value loss = graph.add("reduce_sum", {x}, {{"axes", IntList{0, 1, 2, 3}}});
  graph.set_output("loss", loss);
  differentiate(graph, loss);
  remove_dead_nodes(graph);
  fuse(graph);
  EXPECT_EQ(count(graph, "add"), 0);
  EXPECT_EQ(count(graph, "relu"), 0);
  EXPECT_EQ(count(graph, "relu_grad"), 2);  // Of the two sums; those of the inner relus are folded away.
  EXPECT_EQ(count(graph, "bn_dx"), 4);
}

TEST(PlanMemory, NeverGivesOneByteToTwoLiveValues) {
  Graph graph;
  const std::vector<Gradient> gradients = differentiate(graph, two_layers(graph));
  remove_dead_nodes(graph);
  const MemoryPlan plan = plan_memory(graph, StepLayouts(graph), gradients);

  const std::vector<int> producer = producers(graph);
  std::vector<int> last(static_cast<std::size_t>(graph.value_count()), -1);
  for (std::size_t i = 0; i < graph.nodes().size(); ++i) {
    for (const ValueId id : graph.nodes()[i].inputs) last[static_cast<std::size_t>(id)] = static_cast<int>(i);
  }
  const auto location = [&](ValueId id) { return plan.locations[static_cast<std::size_t>(id)]; };
  const auto bytes = [&](ValueId id) { return bytes_of(graph.value(id).type); };
  for (ValueId a = 0; a < graph.value_count(); ++a) {
    for (ValueId b = 0; b < a; ++b) {
      const int born_a = producer[static_cast<std::size_t>(a)];
      const int born_b = producer[static_cast<std::size_t>(b)];
      if (born_a < 0 || born_b < 0 || location(a).space != location(b).space) continue;
      const bool apart = location(a).offset + bytes(a) <= location(b).offset ||
                         location(b).offset + bytes(b) <= location(a).offset;
      // The later one may take over the earlier one's bytes at the node that reads it last.
      const int later = std::max(born_a, born_b);
      const int end = last[static_cast<std::size_t>(born_a < born_b ? a : b)];
      EXPECT_TRUE(apart || end <= later) << graph.value(a).name << " and " << graph.value(b).name;
    }
  }
}

TEST(ChooseLayouts, ConvertsAtTheEdgesAlone) {
  Graph graph;
  Value x = graph.source("x", {DType::f32, {2, 3, 8, 8}}, Role::input);
  for (const std::string_view name : {"w1", "w2"}) {
    const Value w =
        graph.source(name, {DType::f32, {x.dim(1) == 3 ? 4 : 4, x.dim(1), 3, 3}}, Role::parameter);
    x = graph.add("relu", {graph.add("conv2d", {x, w}, {{"padding", 1}})});
  }
  graph.set_output("scores", graph.add("reshape", {x}, {{"shape", IntList{2, -1}}}));
  choose_layouts(graph);
  EXPECT_EQ(count(graph, "to_layout"), 2);  // One at the input, one before the reshape.
}

}  // namespace
}  // namespace hocket
