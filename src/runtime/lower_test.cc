#include "runtime/lower.h"

#include <gtest/gtest.h>

#include <cmath>

#include "graph/differentiate.h"
#include "graph/operator.h"
#include "graph/passes/passes.h"
#include "runtime/collective_kernel.h"
#include "runtime/lowering.h"
#include "runtime/operator_cases.h"
#include "runtime/stored.h"
#include "tensor/reference/shape.h"

namespace hocket {
namespace {

// Terms of a sum may cancel: its error is relative to the operand rather than to the result.
bool is_sum(std::string_view op) { return op == "reduce_sum" || op == "reduce_mean" || op == "sum_to"; }

// How far a fast kernel may be from the naive one in f32, relative to the largest element of the result.
double tolerance_of(std::string_view op) {
  if (op.starts_with("conv2d") || op.starts_with("matmul") || op.starts_with("attention")) return 2e-5;
  if (op.starts_with("gelu") || op == "exp" || op == "tanh" || op == "sigmoid") return 5e-6;
  return is_sum(op) ? 1e-5 : 2e-6;
}

double element(const Tensor& tensor, std::int64_t i) {
  return visit_dtype(tensor.dtype(), [&]<typename T>(T) {
    const T value = tensor.values<T>()[static_cast<std::size_t>(i)];
    if constexpr (std::is_class_v<T>) {
      return static_cast<double>(static_cast<float>(value));
    } else {
      return static_cast<double>(value);
    }
  });
}

double largest(const Tensor& tensor) {
  double result = 0;
  for (std::int64_t i = 0; i < tensor.count(); ++i) result = std::max(result, std::fabs(element(tensor, i)));
  return result;
}

// Equal up to `error`; exactly in whole numbers.
void expect_close(const Tensor& actual, const Tensor& expected, double error, const std::string& what) {
  ASSERT_EQ(actual.shape(), expected.shape()) << what;
  const DType dtype = expected.dtype();
  const bool is_whole = dtype == DType::i32 || dtype == DType::i64 || dtype == DType::u8;
  for (std::int64_t i = 0; i < expected.count(); ++i) {
    ASSERT_NEAR(element(actual, i), element(expected, i), is_whole ? 0 : error + 1e-12)
        << what << " element " << i << " of " << to_string(expected.shape());
  }
}

// The tensor with its elements in the logical order.
Tensor in_plain_order(const Tensor& tensor, const ValueInfo& info) {
  if (info.layout == Layout::plain) return tensor;
  Tensor plain(tensor.dtype(), tensor.shape());
  std::byte* in[] = {tensor.bytes().data()};
  std::byte* out[] = {plain.bytes().data()};
  reference::make_transpose({stored_shape(info), {0, 3, 1, 2}, tensor.dtype()})->run(in, out, nullptr);
  return plain;
}

// A scene with the case, its gradients where it has any, and the value that starts them.
struct Differentiated {
  Differentiated(const OperatorCase& test, DType dtype, Scene::Size size) : scene(dtype, size) {
    const std::vector<Value> results = test.build(scene);
    sources = scene.sources();
    if (results.empty() || results[0].type().dtype != dtype ||
        scene.graph().values_of(Role::parameter).empty())
      return;
    gradients = differentiate(scene.graph(), scene.loss_of(results));
    sources = scene.sources();
    const Tensor one(dtype, {});
    if (dtype == DType::f64) one.values<double>()[0] = 1;
    if (dtype == DType::f32) one.values<float>()[0] = 1;
    sources[scene.graph().find("dloss").id()] = one;
  }

  Scene scene;
  std::vector<Gradient> gradients;
  Sources sources;
};

// Runs every node with the fast kernel and with the naive one on the same operands.
void compare_kernels(const Graph& graph, const Sources& sources) {
  std::vector<Tensor> values(static_cast<std::size_t>(graph.value_count()));
  for (const auto& [id, tensor] : sources) values[static_cast<std::size_t>(id)] = copy_of(tensor);
  for (const Node& node : graph.nodes()) {
    std::vector<Tensor> fast = copies_of(values);
    evaluate_node(graph, node, KernelSet::fast, fast);
    evaluate_node(graph, node, KernelSet::reference, values);
    const double at_least =
        is_sum(node.op->name()) ? largest(values[static_cast<std::size_t>(node.inputs[0])]) : 0;
    for (const auto& operands : {node.inputs, node.outputs}) {
      for (const ValueId id : operands) {
        const auto i = static_cast<std::size_t>(id);
        const double error = tolerance_of(node.op->name()) * std::max(largest(values[i]), at_least);
        expect_close(fast[i], values[i], error, node.name + " " + graph.value(id).name);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }
}

class KernelsOf : public testing::TestWithParam<OperatorCase> {};

TEST_P(KernelsOf, FastAgreesWithReferenceInEveryNode) {
  Differentiated test(GetParam(), DType::f32, Scene::Size::large);
  compare_kernels(test.scene.graph(), test.sources);
}

TEST_P(KernelsOf, FastAgreesWithReferenceOnChannelsLast) {
  Differentiated test(GetParam(), DType::f32, Scene::Size::large);
  choose_layouts(test.scene.graph());
  compare_kernels(test.scene.graph(), test.sources);
}

INSTANTIATE_TEST_SUITE_P(Operators, KernelsOf, testing::ValuesIn(differentiable_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Images, KernelsOf, testing::ValuesIn(image_cases()), name_of_case);
INSTANTIATE_TEST_SUITE_P(Updates, KernelsOf, testing::ValuesIn(update_cases()), name_of_case);

class Bf16KernelsOf : public testing::TestWithParam<OperatorCase> {};

TEST_P(Bf16KernelsOf, FastAgreesWithReferenceInEveryNode) {
  Differentiated test(GetParam(), DType::f32, Scene::Size::large);
  choose_layouts(test.scene.graph());
  use_bf16_products(test.scene.graph());
  compare_kernels(test.scene.graph(), test.sources);
}

std::vector<OperatorCase> product_cases() {
  std::vector<OperatorCase> products;
  for (const std::vector<OperatorCase>& cases : {differentiable_cases(), image_cases()}) {
    for (const OperatorCase& test : cases) {
      if (test.name.starts_with("matmul") || test.name.starts_with("conv2d")) products.push_back(test);
    }
  }
  return products;
}

INSTANTIATE_TEST_SUITE_P(Products, Bf16KernelsOf, testing::ValuesIn(product_cases()), name_of_case);

class LayoutOf : public testing::TestWithParam<OperatorCase> {};

TEST_P(LayoutOf, ChangesNoGradient) {
  Differentiated test(GetParam(), DType::f64, Scene::Size::small);
  Graph& graph = test.scene.graph();
  const std::vector<Tensor> expected = evaluate(graph, test.sources, KernelSet::reference);
  const std::size_t nodes = graph.nodes().size();
  choose_layouts(graph);
  EXPECT_GT(graph.nodes().size(), nodes) << "the case has no image";
  const std::vector<Tensor> actual = evaluate(graph, test.sources, KernelSet::reference);
  for (const Gradient& gradient : test.gradients) {
    const auto id = static_cast<std::size_t>(gradient.value.id());
    const ValueInfo& info = graph.value(gradient.value.id());
    expect_close(in_plain_order(actual[id], info), expected[id], 1e-12 * largest(expected[id]), info.name);
  }
}

INSTANTIATE_TEST_SUITE_P(Images, LayoutOf, testing::ValuesIn(image_cases()), name_of_case);

TEST(Lower, EveryOperatorHasAKernel) {
  Node node;
  for (const std::string_view op : operator_names()) {
    node.op = find_operator(op);
    const bool is_message = op == "send" || op == "receive";  // Executable moves them itself.
    EXPECT_NE(find_lowering(op) != nullptr, CollectiveKernel::is_for(node) || is_message) << op;
  }
}

}  // namespace
}  // namespace hocket
