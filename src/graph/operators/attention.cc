#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// The width C of qkv (N, T, 3C), checked against the number of heads.
std::int64_t expect_heads(const Node& node, const Operands& operands, int qkv) {
  operands.expect_rank(qkv, 3);
  operands.expect_float(qkv);
  flag(node, "causal", true);
  const std::int64_t heads = required_integer(node, "heads", 1);
  const std::int64_t last = operands.shape(qkv)[2];
  if (last % 3 != 0 || last / 3 % heads != 0) {
    throw ConfigError("qkv has {} columns, which are no query, key and value of {} heads", last, heads);
  }
  return last / 3;
}

Shape probs_shape(const Node& node, const Shape& qkv) {
  return {qkv[0], node.attributes.integer("heads", 1), qkv[1], qkv[1]};
}

// One product of a (T, C) and a (C, T) matrix per sample.
double product_flops(const Shape& qkv) {
  return 2.0 * static_cast<double>(qkv.count()) / 3 * static_cast<double>(qkv[1]);
}

// y = softmax(q·kᵀ/√(C/heads))·v per head
class Attention final : public Operator {
 public:
  std::string_view name() const override { return "attention"; }
  std::vector<std::string_view> attribute_names() const override { return {"heads", "causal"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"qkv"});
    const std::int64_t width = expect_heads(node, operands, 0);
    const Shape& qkv = in[0].shape;
    return {{in[0].dtype, {qkv[0], qkv[1], width}}, make_type(in[0].dtype, probs_shape(node, qkv))};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Value d = only_first(node, dy);
    const Backward back(graph, node);
    return {{back.add(0, "attention_grad", {d, back.in(0), back.out(1)}, back.attributes()), {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {{{sharded(0)}, {sharded(0), sharded(0)}}, {{sharded(2)}, {sharded(2), sharded(1)}}};
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.inputs[0] == sharded(2)) divide_attribute(node, "heads", share.count);
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 2 * product_flops(in[0].shape);
  }
};

class AttentionGrad final : public Operator {
 public:
  std::string_view name() const override { return "attention_grad"; }
  std::vector<std::string_view> attribute_names() const override { return {"heads", "causal"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "qkv", "probs"});
    const std::int64_t width = expect_heads(node, operands, 1);
    const Shape& qkv = in[1].shape;
    operands.expect_dtype_of(0, 1);
    operands.expect_shape(0, {qkv[0], qkv[1], width});
    operands.expect_dtype_of(2, 1);
    operands.expect_shape(2, probs_shape(node, qkv));
    return {in[1]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {{{sharded(0), sharded(0), sharded(0)}, {sharded(0)}},
            {{sharded(2), sharded(2), sharded(1)}, {sharded(2)}},
            {{kPartialSum, kReplicated, kReplicated}, {kPartialSum}}};
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.inputs[0] == sharded(2)) divide_attribute(node, "heads", share.count);
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 4 * product_flops(in[1].shape);
  }
};

}  // namespace

OperatorList attention_operators() {
  static const Attention kAttention;
  static const AttentionGrad kAttentionGrad;
  return {&kAttention, &kAttentionGrad};
}

}  // namespace hocket
