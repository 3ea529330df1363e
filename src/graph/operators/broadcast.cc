#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// Throws unless `narrow` becomes `wide` by repeating: aligned at the last dimension, 1 stretches.
void check_broadcasts(const Shape& narrow, const Shape& wide) {
  const int skipped = wide.rank() - narrow.rank();
  bool fits = skipped >= 0;
  for (int dim = 0; fits && dim < narrow.rank(); ++dim) {
    fits = narrow[dim] == wide[dim + skipped] || narrow[dim] == 1;
  }
  if (!fits) throw ConfigError("the shape {} does not broadcast to {}", to_string(narrow), to_string(wide));
}

// y = x summed over what broadcasting repeated        dx = dy broadcast
class SumTo final : public Operator {
 public:
  std::string_view name() const override { return "sum_to"; }
  std::vector<std::string_view> attribute_names() const override { return {"shape"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_float(0);
    const Shape y = shape_attribute(node, "shape");
    check_broadcasts(y, in[0].shape);
    return {{in[0].dtype, y}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, "broadcast_to", {dy[0]}, {{"shape", dims_of(back.in(0).shape())}}), {}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Shape& x = in[0].shape;
    const Shape y = shape_attribute(node, "shape");
    PlacementRules rules{uniform_rule(1, 1, kPartialSum)};
    for (int dim = 0; dim < x.rank(); ++dim) {
      const int own = dim - (x.rank() - y.rank());
      const bool is_summed = own < 0 || y[own] != x[dim];
      rules.push_back({{sharded(dim)}, {is_summed ? kPartialSum : sharded(own)}});
    }
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    divide_entry(node, "shape", rule.outputs[0], share.count);
  }
};

// y = x repeated        dx = dy summed
class BroadcastTo final : public Operator {
 public:
  std::string_view name() const override { return "broadcast_to"; }
  std::vector<std::string_view> attribute_names() const override { return {"shape"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_float(0);
    const Shape y = shape_attribute(node, "shape");
    check_broadcasts(in[0].shape, y);
    return {{in[0].dtype, y}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.summed_to(0, dy[0]), {}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Shape& x = in[0].shape;
    const Shape y = shape_attribute(node, "shape");
    PlacementRules rules{uniform_rule(1, 1, kPartialSum)};
    for (int dim = 0; dim < y.rank(); ++dim) {
      const int own = dim - (y.rank() - x.rank());
      const bool is_repeated = own < 0 || x[own] != y[dim];
      rules.push_back({{is_repeated ? kReplicated : sharded(own)}, {sharded(dim)}});
    }
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    divide_entry(node, "shape", rule.outputs[0], share.count);
  }

  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }
};

}  // namespace

OperatorList broadcast_operators() {
  static const SumTo kSumTo;
  static const BroadcastTo kBroadcastTo;
  return {&kSumTo, &kBroadcastTo};
}

}  // namespace hocket
