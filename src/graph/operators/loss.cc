#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// x (R, V), a label per row, a weight for each of N samples; N divides R.
void expect_rows(const Operands& operands, int x, int label, int weight) {
  operands.expect_rank(x, 2);
  operands.expect_float(x);
  const std::int64_t rows = operands.shape(x)[0];
  if (operands.shape(label).count() != rows) {
    throw ConfigError("{} has {} rows but {} has {} elements", operands.name(x), rows, operands.name(label),
                      operands.shape(label).count());
  }
  operands.expect_dtype(weight, DType::f32);
  operands.expect_rank(weight, 1);
  const std::int64_t samples = operands.shape(weight)[0];
  if (rows % samples != 0) {
    throw ConfigError("{} has {} rows, which {} samples (the size of {}) do not divide", operands.name(x),
                      rows, samples, operands.name(weight));
  }
}

// x (N, k) and a label of the same dtype (N, k), or (N) where k = 1.
void expect_targets(const Operands& operands, int x, int label, int weight) {
  operands.expect_rank(x, 2);
  operands.expect_float(x);
  operands.expect_dtype_of(label, x);
  const Shape& shape = operands.shape(x);
  const bool is_column = shape[1] == 1 && operands.shape(label) == Shape{shape[0]};
  if (!is_column) operands.expect_shape(label, shape);
  operands.expect_dtype(weight, DType::f32);
  operands.expect_shape(weight, {shape[0]});
}

// loss = Σ w·l(softmax(logits), label), probs = softmax(logits)        dlogits = dloss·w·(probs − onehot)
class SoftmaxCrossEntropy final : public Operator {
 public:
  std::string_view name() const override { return "softmax_cross_entropy"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"logits", "label", "weight"});
    expect_rows(operands, 0, 1, 2);
    operands.expect_dtype(1, DType::i32);
    return {{in[0].dtype, {}}, in[0]};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Value dloss = only_first(node, dy);
    const Backward back(graph, node);
    return {{back.add(0, "softmax_cross_entropy_grad", {dloss, back.out(1), back.in(1), back.in(2)}), {}},
            {},
            {}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    if (in[1].shape.rank() == 0) return {};
    return {{{sharded(0), sharded(0), sharded(0)}, {kPartialSum, sharded(0)}}};
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 4.0 * static_cast<double>(in[0].shape.count());
  }
};

class SoftmaxCrossEntropyGrad final : public Operator {
 public:
  std::string_view name() const override { return "softmax_cross_entropy_grad"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dloss", "probs", "label", "weight"});
    expect_rows(operands, 1, 2, 3);
    operands.expect_dtype(2, DType::i32);
    operands.expect_dtype_of(0, 1);
    operands.expect_shape(0, Shape());
    return {in[1]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    if (in[2].shape.rank() == 0) return {};
    return {{{kReplicated, sharded(0), sharded(0), sharded(0)}, {sharded(0)}}};
  }
};

// loss = Σ w·mean over k of l(x, label)
class ElementLoss final : public Operator {
 public:
  ElementLoss(std::string_view name, std::string_view grad) : name_(name), grad_(grad) {}
  std::string_view name() const override { return name_; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "label", "weight"});
    expect_targets(operands, 0, 1, 2);
    return {{in[0].dtype, {}}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, grad_, {dy[0], back.in(0), back.in(1), back.in(2)}), {}}, {}, {}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {{{sharded(0), sharded(0), sharded(0)}, {kPartialSum}}};
  }

 private:
  std::string_view name_, grad_;
};

// dx = dloss·w·∂l/∂x / k
class ElementLossGrad final : public Operator {
 public:
  explicit ElementLossGrad(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dloss", "x", "label", "weight"});
    expect_targets(operands, 1, 2, 3);
    operands.expect_dtype_of(0, 1);
    operands.expect_shape(0, Shape());
    return {in[1]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {{{kReplicated, sharded(0), sharded(0), sharded(0)}, {sharded(0)}}};
  }

 private:
  std::string_view name_;
};

// count = Σ over rows with w > 0 of [argmax(x) = label]
class CountCorrect final : public Operator {
 public:
  std::string_view name() const override { return "count_correct"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "label", "weight"});
    expect_rows(operands, 0, 1, 2);
    if (operands.dtype(1) != DType::i32) operands.expect_dtype_of(1, 0);
    return {{in[0].dtype, {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    if (in[1].shape.rank() == 0) return {};
    return {{{sharded(0), sharded(0), sharded(0)}, {kPartialSum}}};
  }
};

}  // namespace

OperatorList loss_operators() {
  static const SoftmaxCrossEntropy kSoftmaxCrossEntropy;
  static const SoftmaxCrossEntropyGrad kSoftmaxCrossEntropyGrad;
  static const CountCorrect kCountCorrect;
  static const std::vector<ElementLoss> kLosses{{"sigmoid_cross_entropy", "sigmoid_cross_entropy_grad"},
                                                {"hinge", "hinge_grad"},
                                                {"squared_error", "squared_error_grad"}};
  static const std::vector<ElementLossGrad> kGrads{ElementLossGrad("sigmoid_cross_entropy_grad"),
                                                   ElementLossGrad("hinge_grad"),
                                                   ElementLossGrad("squared_error_grad")};
  OperatorList list{&kSoftmaxCrossEntropy, &kSoftmaxCrossEntropyGrad, &kCountCorrect};
  for (const auto& op : kLosses) list.push_back(&op);
  for (const auto& op : kGrads) list.push_back(&op);
  return list;
}

}  // namespace hocket
