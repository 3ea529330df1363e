#include <array>

#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// Which dimensions of a shape are reduced, and what is left.
struct Reduced {
  Reduced(const Node& node, const Shape& x);

  std::array<bool, Shape::kMaxRank> is_reduced{};
  Shape kept;              // With 1 for every reduced dimension.
  Shape y;                 // The result: `kept`, without the reduced dimensions unless keep=1.
  std::int64_t count = 1;  // Elements that make one of the result.
  IntList result_dims;     // The dimension of y that a dimension of x becomes.
};

Reduced::Reduced(const Node& node, const Shape& x) : kept(x) {
  IntList axes = node.attributes.list("axes");
  if (!node.attributes.has("axes")) {
    for (int dim = 0; dim < x.rank(); ++dim) axes.push_back(dim);
  }
  for (const std::int64_t axis : axes) {
    bool& reduced = is_reduced[static_cast<std::size_t>(axis_of(axis, x.rank()))];
    if (reduced) throw ConfigError("axis {} is given twice", axis);
    reduced = true;
  }
  const bool keep = flag(node, "keep");
  IntList dims;
  for (int dim = 0; dim < x.rank(); ++dim) {
    const bool reduced = is_reduced[static_cast<std::size_t>(dim)];
    result_dims.push_back(static_cast<std::int64_t>(dims.size()));
    if (reduced) {
      count *= x[dim];
      kept[dim] = 1;
    }
    if (!reduced || keep) dims.push_back(kept[dim]);
  }
  y = Shape(dims);
}

// y = the sum, mean or maximum of x over `axes`
class ReduceOperator final : public Operator {
 public:
  enum class Kind : std::uint8_t { sum, mean, max };
  ReduceOperator(std::string_view name, Kind kind) : name_(name), kind_(kind) {}
  std::string_view name() const override { return name_; }
  std::vector<std::string_view> attribute_names() const override { return {"axes", "keep"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_float(0);
    return {{in[0].dtype, Reduced(node, in[0].shape).y}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    if (kind_ == Kind::max) {
      return {{back.add(0, "reduce_max_grad", {dy[0], back.in(0), back.out(0)}, back.attributes()), {}}};
    }
    const Shape x = back.in(0).shape();
    const Reduced reduced(node, x);
    Value d = dy[0];
    if (kind_ == Kind::mean) {
      d = back.add(0, "scale", {d}, {{"factor", 1.0 / static_cast<double>(reduced.count)}});
    }
    if (d.shape() != reduced.kept) d = back.add(0, "reshape", {d}, {{"shape", dims_of(reduced.kept)}});
    return {{back.add(0, "broadcast_to", {d}, {{"shape", dims_of(x)}}), {}}};
  }

  // A mean over a dimension that is cut is no plain sum of the parts' means.
  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Reduced reduced(node, in[0].shape);
    const Placement partial = kind_ == Kind::max ? kPartialMax : kPartialSum;
    PlacementRules rules{uniform_rule(1, 1, partial)};
    for (int dim = 0; dim < in[0].shape.rank(); ++dim) {
      if (!reduced.is_reduced[static_cast<std::size_t>(dim)]) {
        const auto own = static_cast<int>(reduced.result_dims[static_cast<std::size_t>(dim)]);
        rules.push_back({{sharded(dim)}, {sharded(own)}});
      } else if (kind_ != Kind::mean) {
        rules.push_back({{sharded(dim)}, {partial}});
      }
    }
    return rules;
  }

 private:
  std::string_view name_;
  Kind kind_;
};

// dx = dy shared equally among the elements of x that equal y
class ReduceMaxGrad final : public Operator {
 public:
  std::string_view name() const override { return "reduce_max_grad"; }
  std::vector<std::string_view> attribute_names() const override { return {"axes", "keep"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "x", "y"});
    operands.expect_float(1);
    operands.expect_dtype_of(0, 1);
    operands.expect_shape(0, Reduced(node, in[1].shape).y);
    operands.expect_like(2, 0);
    return {in[1]};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Reduced reduced(node, in[1].shape);
    PlacementRules rules{{{kPartialSum, kReplicated, kReplicated}, {kPartialSum}}};
    for (int dim = 0; dim < in[1].shape.rank(); ++dim) {
      if (reduced.is_reduced[static_cast<std::size_t>(dim)]) continue;
      const auto own = static_cast<int>(reduced.result_dims[static_cast<std::size_t>(dim)]);
      rules.push_back({{sharded(own), sharded(dim), sharded(own)}, {sharded(dim)}});
    }
    return rules;
  }
};

}  // namespace

OperatorList reduce_operators() {
  static const ReduceOperator kSum("reduce_sum", ReduceOperator::Kind::sum);
  static const ReduceOperator kMean("reduce_mean", ReduceOperator::Kind::mean);
  static const ReduceOperator kMax("reduce_max", ReduceOperator::Kind::max);
  static const ReduceMaxGrad kMaxGrad;
  return {&kSum, &kMean, &kMax, &kMaxGrad};
}

}  // namespace hocket
