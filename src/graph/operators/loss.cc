#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// A label for each row of x (R, V).
void expect_labels(const Operands& operands, int x, int label) {
  const std::int64_t rows = operands.shape(x)[0];
  if (operands.shape(label).count() != rows) {
    throw ConfigError("{} has {} rows but {} has {} elements", operands.name(x), rows, operands.name(label),
                      operands.shape(label).count());
  }
}

// x (R, V), a label per row, a weight for each of N samples; N divides R.
void expect_rows(const Operands& operands, int x, int label, int weight) {
  operands.expect_rank(x, 2);
  operands.expect_float(x);
  expect_labels(operands, x, label);
  const std::int64_t rows = operands.shape(x)[0];
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
  std::vector<std::string_view> attribute_names() const override { return {"part", "parts"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    expect_parts(node);
    const Operands operands(in, {"dloss", "probs", "label", "weight"});
    expect_rows(operands, 1, 2, 3);
    operands.expect_dtype(2, DType::i32);
    operands.expect_dtype_of(0, 1);
    operands.expect_shape(0, Shape());
    return {in[1]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules{{{kReplicated, sharded(1), kReplicated, kReplicated}, {sharded(1)}}};
    if (in[2].shape.rank() > 0) {
      rules.push_back({{kReplicated, sharded(0), sharded(0), sharded(0)}, {sharded(0)}});
    }
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.inputs[1] != sharded(1)) return;
    choose_part(node, share);
    count_parts(node, share);
  }
};

// The parts of softmax_cross_entropy that ranks with different classes compute, made by split_losses:
// m = the maximum of a row, e = exp(x − m), s = Σ e, p = the label's x; so l = log s + m − p, probs = e/s.
void expect_column(const Operands& operands, int column, int x) {
  operands.expect_dtype_of(column, x);
  operands.expect_shape(column, {operands.shape(x)[0], 1});
}

// e = exp(x − m), s = Σ e over the row
class ExpSum final : public Operator {
 public:
  std::string_view name() const override { return "exp_sum"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "m"});
    operands.expect_float(0);
    operands.expect_rank(0, 2);
    expect_column(operands, 1, 0);
    return {in[0], in[1]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {{{sharded(0), sharded(0)}, {sharded(0), sharded(0)}},
            {{sharded(1), kReplicated}, {sharded(1), kPartialSum}}};
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 3.0 * static_cast<double>(in[0].shape.count());
  }
};

// p = x[label] of the row, 0 where the label is none of the columns
class Pick final : public Operator {
 public:
  std::string_view name() const override { return "pick"; }
  std::vector<std::string_view> attribute_names() const override { return {"part"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "label"});
    operands.expect_float(0);
    operands.expect_rank(0, 2);
    operands.expect_dtype(1, DType::i32);
    expect_labels(operands, 0, 1);
    expect_part(node);
    return {{in[0].dtype, {in[0].shape[0], 1}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules{{{sharded(1), kReplicated}, {kPartialSum}}};
    if (in[1].shape.rank() > 0) rules.push_back({{sharded(0), sharded(0)}, {sharded(0)}});
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.inputs[0] == sharded(1)) choose_part(node, share);
  }

  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }
};

// loss = Σ w·(log s + m − p) over the rows whose label is a class
class SplitCrossEntropy final : public Operator {
 public:
  std::string_view name() const override { return "split_cross_entropy"; }
  std::vector<std::string_view> attribute_names() const override { return {"classes"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"m", "s", "p", "label", "weight"});
    expect_rows(operands, 0, 3, 4);
    operands.expect_dtype(3, DType::i32);
    for (const int column : {0, 1, 2}) expect_column(operands, column, 0);
    required_integer(node, "classes", 1);
    return {{in[0].dtype, {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    if (in[3].shape.rank() == 0) return {};
    return {{std::vector<Placement>(in.size(), sharded(0)), {kPartialSum}}};
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
  static const ExpSum kExpSum;
  static const Pick kPick;
  static const SplitCrossEntropy kSplitCrossEntropy;
  static const CountCorrect kCountCorrect;
  static const std::vector<ElementLoss> kLosses{{"sigmoid_cross_entropy", "sigmoid_cross_entropy_grad"},
                                                {"hinge", "hinge_grad"},
                                                {"squared_error", "squared_error_grad"}};
  static const std::vector<ElementLossGrad> kGrads{ElementLossGrad("sigmoid_cross_entropy_grad"),
                                                   ElementLossGrad("hinge_grad"),
                                                   ElementLossGrad("squared_error_grad")};
  OperatorList list{&kSoftmaxCrossEntropy, &kSoftmaxCrossEntropyGrad, &kExpSum, &kPick, &kSplitCrossEntropy,
                    &kCountCorrect};
  for (const auto& op : kLosses) list.push_back(&op);
  for (const auto& op : kGrads) list.push_back(&op);
  return list;
}

}  // namespace hocket
