// Batch norm is two operators, statistics and application, so that statistics of several ranks can be added
// in between. Where they are not added ("plain" batch norm on several ranks), they are Local. The statistics
// are cut with the channels where those are.
#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

constexpr double kMaxEps = 1.0;

void expect_image(const Operands& operands, int x) {
  operands.expect_float(x);
  if (operands.shape(x).rank() != 2) operands.expect_rank(x, 4);
}

void expect_weight(const Operands& operands, int weight, int x) {
  operands.expect_dtype(weight, DType::f32);
  operands.expect_shape(weight, {operands.shape(x)[0]});
}

void expect_stats(const Operands& operands, int stats, int x) {
  operands.expect_dtype(stats, DType::f64);
  operands.expect_shape(stats, {3, operands.shape(x)[1]});
}

void expect_channels(const Operands& operands, int vector, int x) {
  operands.expect_dtype_of(vector, x);
  operands.expect_shape(vector, {operands.shape(x)[1]});
}

Attributes eps_of(const Attributes& attributes) { return {{"eps", attributes.real("eps", 1e-5)}}; }

// Rules for operands cut by the batch, once with the statistics of all ranks and once with each rank's own,
// and as last one `by_channel`.
PlacementRules by_batch(std::vector<Placement> inputs, std::vector<Placement> outputs,
                        PlacementRule by_channel) {
  PlacementRules rules{{inputs, outputs}, {inputs, outputs}, std::move(by_channel)};
  for (std::vector<Placement>* side : {&rules[0].inputs, &rules[0].outputs}) {
    for (Placement& placement : *side) {
      if (placement == kLocal) placement = side == &rules[0].inputs ? kReplicated : kPartialSum;
    }
  }
  return rules;
}

// stats = Σ w·x, Σ w·x² and Σ w of each channel
class BnStats final : public Operator {
 public:
  std::string_view name() const override { return "bn_stats"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "weight"});
    expect_image(operands, 0);
    expect_weight(operands, 1, 0);
    return {{DType::f64, {3, in[0].shape[1]}}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, "bn_stats_dx", {dy[0], back.in(0), back.in(1)}), {}}, {}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return by_batch({sharded(0), sharded(0)}, {kLocal}, {{sharded(1), kReplicated}, {sharded(1)}});
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 4.0 * static_cast<double>(in[0].shape.count());
  }
};

// dx = w·(dS₁ + 2·x·dS₂)
class BnStatsDx final : public Operator {
 public:
  std::string_view name() const override { return "bn_stats_dx"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dstats", "x", "weight"});
    expect_image(operands, 1);
    expect_stats(operands, 0, 1);
    expect_weight(operands, 2, 1);
    return {in[1]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return by_batch({kLocal, sharded(0), sharded(0)}, {sharded(0)},
                    {{sharded(1), sharded(1), kReplicated}, {sharded(1)}});
  }
};

// The placements of an operand that a node may have or not, behind those that every node has.
void append_optional(PlacementRules& rules, bool has, Placement by_batch, Placement by_channel) {
  if (!has) return;
  for (PlacementRule& rule : rules) rule.inputs.push_back(by_batch);
  rules.back().inputs.back() = by_channel;
}

// y = act(γ·(x−μ)/√(σ²+eps) + β + residual) with μ = S₁/W, σ² = S₂/W − μ²
class BnApply final : public Operator {
 public:
  std::string_view name() const override { return "bn_apply"; }
  std::vector<std::string_view> attribute_names() const override { return {"eps", "act"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "stats", "gamma", "beta", "residual"}, 1);
    expect_image(operands, 0);
    expect_stats(operands, 1, 0);
    expect_channels(operands, 2, 0);
    expect_channels(operands, 3, 0);
    if (operands.has(4)) operands.expect_like(4, 0);
    real_between(node, "eps", 1e-5, 0, kMaxEps);
    has_relu(node);
    return {in[0]};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const Value d = back.before_activation(dy[0]);
    const Attributes eps = eps_of(back.attributes());
    const auto sums = back.apply(2, "bn_apply_grad", {d, back.in(0), back.in(1), back.in(2)}, eps);
    const Value dx = back.add(0, "bn_apply_dx", {d, back.in(0), back.in(1), back.in(2)}, eps);
    std::vector<Gradient> gradients{{dx, {}}, {sums[2], {}}, {sums[0], {}}, {sums[1], {}}};
    if (back.in_count() == 5) gradients.push_back({d, {}});
    return gradients;
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules = by_batch({sharded(0), kLocal, kReplicated, kReplicated}, {sharded(0)},
                                    {{sharded(1), sharded(1), sharded(0), sharded(0)}, {sharded(1)}});
    append_optional(rules, in.size() == 5, sharded(0), sharded(1));
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 4.0 * static_cast<double>(in[0].shape.count());
  }
};

// The operands that bn_apply's gradients share: (dy, x, stats, gamma). The last `optional` ones may be
// missing.
Operands backward_operands(const Node& node, std::span<const Type> in, std::vector<std::string_view> names,
                           std::size_t optional = 0) {
  Operands operands(in, std::move(names), optional);
  expect_image(operands, 1);
  operands.expect_like(0, 1);
  expect_stats(operands, 2, 1);
  expect_channels(operands, 3, 1);
  real_between(node, "eps", 1e-5, 0, kMaxEps);
  return operands;
}

// dgamma = Σ dy·(x−μ)/√(σ²+eps), dbeta = Σ dy, dstats = through μ and σ². With beta, dy counts where the
// normalised value is positive: a relu that fusion folded in.
class BnApplyGrad final : public Operator {
 public:
  std::string_view name() const override { return "bn_apply_grad"; }
  std::vector<std::string_view> attribute_names() const override { return {"eps"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands = backward_operands(node, in, {"dy", "x", "stats", "gamma", "beta"}, 1);
    if (operands.has(4)) expect_channels(operands, 4, 1);
    return {in[3], in[3], in[2]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules =
        by_batch({sharded(0), sharded(0), kLocal, kReplicated}, {kPartialSum, kPartialSum, kLocal},
                 {{sharded(1), sharded(1), sharded(1), sharded(0)}, {sharded(0), sharded(0), sharded(1)}});
    append_optional(rules, in.size() == 5, kReplicated, sharded(0));
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 5.0 * static_cast<double>(in[0].shape.count());
  }
};

// dx = dy·γ/√(σ²+eps)
class BnApplyDx final : public Operator {
 public:
  std::string_view name() const override { return "bn_apply_dx"; }
  std::vector<std::string_view> attribute_names() const override { return {"eps"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    backward_operands(node, in, {"dy", "x", "stats", "gamma"});
    return {in[1]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return by_batch({sharded(0), sharded(0), kLocal, kReplicated}, {sharded(0)},
                    {{sharded(1), sharded(1), sharded(1), sharded(0)}, {sharded(1)}});
  }
};

// dx = bn_apply_dx + bn_stats_dx; made by fusion. With beta, dy counts where the normalised value is
// positive.
class BnDx final : public Operator {
 public:
  std::string_view name() const override { return "bn_dx"; }
  std::vector<std::string_view> attribute_names() const override { return {"eps"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands =
        backward_operands(node, in, {"dy", "x", "stats", "gamma", "dstats", "weight", "beta"}, 1);
    expect_stats(operands, 4, 1);
    expect_weight(operands, 5, 1);
    if (operands.has(6)) expect_channels(operands, 6, 1);
    return {in[1]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules =
        by_batch({sharded(0), sharded(0), kLocal, kReplicated, kLocal, sharded(0)}, {sharded(0)},
                 {{sharded(1), sharded(1), sharded(1), sharded(0), sharded(1), kReplicated}, {sharded(1)}});
    append_optional(rules, in.size() == 7, kReplicated, sharded(0));
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 6.0 * static_cast<double>(in[0].shape.count());
  }
};

// mean ← (1−m)·mean + m·μ, variance likewise and unbiased
class BnRunning final : public Operator {
 public:
  std::string_view name() const override { return "bn_running"; }
  std::vector<std::string_view> attribute_names() const override { return {"momentum"}; }
  std::vector<int> updates() const override { return {1, 2}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"stats", "mean", "variance"});
    operands.expect_float(1);
    operands.expect_rank(1, 1);
    operands.expect_like(2, 1);
    operands.expect_dtype(0, DType::f64);
    operands.expect_shape(0, {3, in[1].shape[0]});
    real_between(node, "momentum", 0.1, 0, 1);
    return {};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {uniform_rule(3, 0, kLocal), {{sharded(1), sharded(0), sharded(0)}, {}}};
  }
};

// y = act(γ·(x−mean)/√(variance+eps) + β + residual)
class BnInference final : public Operator {
 public:
  std::string_view name() const override { return "bn_inference"; }
  std::vector<std::string_view> attribute_names() const override { return {"eps", "act"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "mean", "variance", "gamma", "beta", "residual"}, 1);
    expect_image(operands, 0);
    for (const int vector : {1, 2, 3, 4}) expect_channels(operands, vector, 0);
    if (operands.has(5)) operands.expect_like(5, 0);
    real_between(node, "eps", 1e-5, 0, kMaxEps);
    has_relu(node);
    return {in[0]};
  }

  // The operator is linear in x and gamma: each gradient is the operator itself with zeros and ones for the
  // rest.
  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const Value d = back.before_activation(dy[0]);
    const Attributes eps = eps_of(back.attributes());
    const Value zero = back.add(1, "scale", {back.in(1)}, {{"factor", 0.0}});
    const Value one = back.add(3, "scale", {zero}, {{"offset", 1.0}});
    const Value dx = back.add(0, "bn_inference", {d, zero, back.in(2), back.in(3), zero}, eps);
    const Value normal = back.add(3, "bn_inference", {back.in(0), back.in(1), back.in(2), one, zero}, eps);
    const IntList axes = dx.shape().rank() == 4 ? IntList{0, 2, 3} : IntList{0};
    const Value dgamma = back.add(3, "reduce_sum", {back.add(3, "mul", {d, normal})}, {{"axes", axes}});
    const Value dbeta = back.add(4, "reduce_sum", {d}, {{"axes", axes}});
    std::vector<Gradient> gradients{{dx, {}}, {}, {}, {dgamma, {}}, {dbeta, {}}};
    if (back.in_count() == 6) gradients.push_back({d, {}});
    return gradients;
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules{{{sharded(0), kReplicated, kReplicated, kReplicated, kReplicated}, {sharded(0)}},
                         {{sharded(1), sharded(0), sharded(0), sharded(0), sharded(0)}, {sharded(1)}}};
    for (PlacementRule& rule : rules) {
      if (in.size() == 6) rule.inputs.push_back(rule.outputs[0]);
    }
    return rules;
  }
};

}  // namespace

OperatorList batch_norm_operators() {
  static const BnStats kBnStats;
  static const BnStatsDx kBnStatsDx;
  static const BnApply kBnApply;
  static const BnApplyGrad kBnApplyGrad;
  static const BnApplyDx kBnApplyDx;
  static const BnDx kBnDx;
  static const BnRunning kBnRunning;
  static const BnInference kBnInference;
  return {&kBnStats, &kBnStatsDx, &kBnApply, &kBnApplyGrad, &kBnApplyDx, &kBnDx, &kBnRunning, &kBnInference};
}

}  // namespace hocket
