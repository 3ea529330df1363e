#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

Shape without_last(const Shape& x) {
  return Shape(std::span(x.begin(), static_cast<std::size_t>(x.rank() - 1)));
}

// y = γ·(x−mean)·rstd + β over the last dimension, rstd = 1/√(σ²+eps)
class LayerNorm final : public Operator {
 public:
  std::string_view name() const override { return "layer_norm"; }
  std::vector<std::string_view> attribute_names() const override { return {"eps"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "gamma", "beta"});
    operands.expect_float(0);
    operands.expect_rank_from(0, 1);
    operands.expect_dtype_of(1, 0);
    operands.expect_shape(1, {in[0].shape.back()});
    operands.expect_like(2, 1);
    real_between(node, "eps", 1e-5, 0, 1);
    const Type row{in[0].dtype, without_last(in[0].shape)};
    return {in[0], row, row};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Value d = only_first(node, dy);
    const Backward back(graph, node);
    const auto grad = back.apply(0, "layer_norm_grad", {d, back.in(0), back.out(1), back.out(2), back.in(1)});
    return {{grad[0], {}}, {grad[1], {}}, {grad[2], {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules;
    for (int dim = 0; dim < in[0].shape.rank() - 1; ++dim) {
      rules.push_back({{sharded(dim), kReplicated, kReplicated}, {sharded(dim), sharded(dim), sharded(dim)}});
    }
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 8.0 * static_cast<double>(in[0].shape.count());
  }
};

class LayerNormGrad final : public Operator {
 public:
  std::string_view name() const override { return "layer_norm_grad"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "x", "mean", "rstd", "gamma"});
    operands.expect_float(1);
    operands.expect_rank_from(1, 1);
    operands.expect_like(0, 1);
    operands.expect_dtype_of(2, 1);
    operands.expect_shape(2, without_last(in[1].shape));
    operands.expect_like(3, 2);
    operands.expect_dtype_of(4, 1);
    operands.expect_shape(4, {in[1].shape.back()});
    return {in[1], in[4], in[4]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules{{{kPartialSum, kReplicated, kReplicated, kReplicated, kReplicated},
                          {kPartialSum, kPartialSum, kPartialSum}}};
    for (int dim = 0; dim < in[1].shape.rank() - 1; ++dim) {
      rules.push_back({{sharded(dim), sharded(dim), sharded(dim), sharded(dim), kReplicated},
                       {sharded(dim), kPartialSum, kPartialSum}});
    }
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 12.0 * static_cast<double>(in[0].shape.count());
  }
};

}  // namespace

OperatorList layer_norm_operators() {
  static const LayerNorm kLayerNorm;
  static const LayerNormGrad kLayerNormGrad;
  return {&kLayerNorm, &kLayerNormGrad};
}

}  // namespace hocket
