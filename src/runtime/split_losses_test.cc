#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "graph/differentiate.h"
#include "graph/operator.h"
#include "graph/passes/passes.h"
#include "runtime/operator_cases.h"

namespace hocket {
namespace {

struct Step {
  double loss;
  std::vector<std::vector<double>> gradients;
};

// A linear classifier with two rows a sample and a label that is no class; `size` scales its logits.
Step run_step(double size, KernelSet set, DType dtype, bool splits) {
  Scene scene(dtype, Scene::Size::small);
  const Value x = scene.constant({8, 5}, -size, size), w = scene.parameter({5, 6});
  const Value label = scene.labels({4, 2}, 6);
  scene.sources().at(label.id()).values<std::int32_t>()[3] = 6;
  const Value logits = scene.add("matmul", {x, w});
  const Value loss = scene.apply("softmax_cross_entropy", {logits, label, scene.weights(4)})[0];
  Graph& graph = scene.graph();
  graph.set_output("loss", loss);
  const std::vector<Gradient> gradients = differentiate(graph, loss);
  if (splits) split_losses(graph);

  const auto elements = [&](const std::vector<Tensor>& values, Value value) {
    const Tensor& tensor = values[static_cast<std::size_t>(value.id())];
    if (dtype == DType::f64)
      return std::vector<double>(tensor.values<double>().begin(), tensor.values<double>().end());
    return std::vector<double>(tensor.values<float>().begin(), tensor.values<float>().end());
  };
  Sources sources = scene.sources();
  Tensor dloss(dtype, {});
  if (dtype == DType::f64) {
    dloss.values<double>()[0] = 0.25;
  } else {
    dloss.values<float>()[0] = 0.25F;
  }
  sources[graph.find("dloss").id()] = dloss;
  const std::vector<Tensor> values = evaluate(graph, sources, set);
  Step step{elements(values, graph.output("loss"))[0], {}};
  for (const Gradient& gradient : gradients) step.gradients.push_back(elements(values, gradient.value));
  return step;
}

void expect_same(const Step& actual, const Step& expected, double tolerance) {
  EXPECT_NEAR(actual.loss, expected.loss, tolerance * std::max(1.0, expected.loss));
  ASSERT_EQ(actual.gradients.size(), expected.gradients.size());
  for (std::size_t p = 0; p < expected.gradients.size(); ++p) {
    ASSERT_EQ(actual.gradients[p].size(), expected.gradients[p].size());
    for (std::size_t i = 0; i < expected.gradients[p].size(); ++i) {
      const double size = std::max(1.0, std::fabs(expected.gradients[p][i]));
      EXPECT_NEAR(actual.gradients[p][i], expected.gradients[p][i], tolerance * size);
    }
  }
}

TEST(SplitLosses, KeepTheLossAndTheGradients) {
  expect_same(run_step(1, KernelSet::reference, DType::f64, true),
              run_step(1, KernelSet::reference, DType::f64, false), 1e-12);
  expect_same(run_step(1, KernelSet::fast, DType::f32, true), run_step(1, KernelSet::fast, DType::f32, false),
              1e-5);
}

TEST(SplitLosses, DoNotOverflowForLargeLogits) {
  const Step step = run_step(1e4, KernelSet::reference, DType::f64, true);
  EXPECT_GT(step.loss, 100);
  expect_same(step, run_step(1e4, KernelSet::reference, DType::f64, false), 1e-12);
  expect_same(run_step(1e4, KernelSet::fast, DType::f32, true),
              run_step(1e4, KernelSet::fast, DType::f32, false), 1e-5);
}

TEST(SplitLosses, LeaveNoWholeLossBehind) {
  Scene scene(DType::f64, Scene::Size::small);
  const Value logits = scene.parameter({4, 6});
  const Value loss =
      scene.apply("softmax_cross_entropy", {logits, scene.labels({4}, 6), scene.weights(4)})[0];
  scene.graph().set_output("loss", loss);
  split_losses(scene.graph());
  remove_dead_nodes(scene.graph());
  std::vector<std::string_view> operators;
  for (const Node& node : scene.graph().nodes()) operators.push_back(node.op->name());
  EXPECT_EQ(operators,
            (std::vector<std::string_view>{"reduce_max", "exp_sum", "pick", "split_cross_entropy"}));
}

}  // namespace
}  // namespace hocket
