#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// bf16 operands make f32 results.
DType product_dtype(const Operands& operands) {
  operands.expect_dtype_of(1, 0);
  if (operands.dtype(0) == DType::bf16) return DType::f32;
  operands.expect_float(0);
  return operands.dtype(0);
}

// How matmul reads its operands: which dimension of each is m, n and k.
struct Roles {
  Roles(const Node& node, std::span<const Type> in)
      : ta(flag(node, "ta")), tb(flag(node, "tb")), rank(in[0].shape.rank()), b_rank(in[1].shape.rank()) {}

  int a_m() const { return rank - (ta ? 1 : 2); }
  int a_k() const { return rank - (ta ? 2 : 1); }
  int b_k() const { return b_rank - (tb ? 1 : 2); }
  int b_n() const { return b_rank - (tb ? 2 : 1); }
  bool is_batched() const { return b_rank > 2; }

  bool ta, tb;
  int rank, b_rank;
};

Attributes transposes(bool ta, bool tb) {
  Attributes attributes;
  if (ta) attributes.set("ta", std::int64_t{1});
  if (tb) attributes.set("tb", std::int64_t{1});
  return attributes;
}

// y = act(op(a)·op(b) + bias)
class Matmul final : public Operator {
 public:
  std::string_view name() const override { return "matmul"; }
  std::vector<std::string_view> attribute_names() const override { return {"ta", "tb", "act"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"a", "b", "bias"}, 1);
    operands.expect_rank_from(0, 2);
    operands.expect_rank_from(1, 2);
    const DType dtype = product_dtype(operands);
    const Roles roles(node, in);
    check_leading(operands, roles);
    const Shape &a = in[0].shape, &b = in[1].shape;
    if (a[roles.a_k()] != b[roles.b_k()]) {
      throw ConfigError("a has {} columns but b expects {}", a[roles.a_k()], b[roles.b_k()]);
    }
    Shape y = a;
    y[y.rank() - 2] = a[roles.a_m()];
    y[y.rank() - 1] = b[roles.b_n()];
    if (operands.has(2)) {
      operands.expect_dtype(2, dtype);
      operands.expect_shape(2, {y.back()});
    }
    has_relu(node);
    return {make_type(dtype, y)};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const Type types[] = {back.in(0).type(), back.in(1).type()};
    const Roles roles(node, types);
    const Value full = back.before_activation(dy[0]);
    const Value rounded = back.cast_to(0, full);
    std::vector<Gradient> gradients{{back.cast_to(0, left(back, roles, rounded)), {}},
                                    {back.cast_to(1, right(back, roles, rounded)), {}}};
    if (back.in_count() == 3) gradients.push_back({back.summed_to(2, full), {}});
    return gradients;
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Roles roles(node, in);
    PlacementRules rules;
    for (int dim = 0; dim < roles.rank - 2; ++dim) {
      rules.push_back({{sharded(dim), roles.is_batched() ? sharded(dim) : kReplicated}, {sharded(dim)}});
    }
    rules.push_back({{sharded(roles.a_m()), kReplicated}, {sharded(roles.rank - 2)}});
    rules.push_back({{kReplicated, sharded(roles.b_n())}, {sharded(roles.rank - 1)}});
    if (!has_relu(node)) {
      rules.push_back({{sharded(roles.a_k()), sharded(roles.b_k())}, {kPartialSum}});
      rules.push_back({{kPartialSum, kReplicated}, {kPartialSum}});
      rules.push_back({{kReplicated, kPartialSum}, {kPartialSum}});
    }
    if (in.size() == 3) place_bias(rules, roles.rank - 1);
    return rules;
  }

  double flops(const Node& node, std::span<const Type> in, std::span<const Type> out) const override {
    const double k = static_cast<double>(in[0].shape[Roles(node, in).a_k()]);
    return 2 * k * static_cast<double>(out[0].shape.count());
  }

 private:
  static void check_leading(const Operands& operands, const Roles& roles) {
    const Shape &a = operands.shape(0), &b = operands.shape(1);
    if (!roles.is_batched()) {
      if (roles.ta && a.rank() > 2) {
        throw ConfigError("a is {}: ta=1 needs two dimensions when b has two", to_string(a));
      }
      return;
    }
    bool fits = a.rank() == b.rank();
    for (int dim = 0; fits && dim < a.rank() - 2; ++dim) fits = a[dim] == b[dim];
    if (!fits) {
      throw ConfigError("a is {} but b is {}: leading dimensions differ", to_string(a), to_string(b));
    }
  }

  static Value left(const Backward& back, const Roles& roles, Value dy) {
    const Value b = back.in(1);
    return roles.ta ? back.add(0, "matmul", {b, dy}, transposes(roles.tb, true))
                    : back.add(0, "matmul", {dy, b}, transposes(false, !roles.tb));
  }

  static Value right(const Backward& back, const Roles& roles, Value dy) {
    const Value a = back.in(0);
    if (!roles.is_batched() && !roles.ta) {
      return back.add(1, "matmul_dw", {a, dy}, {{"tb", std::int64_t{roles.tb}}});
    }
    return roles.tb ? back.add(1, "matmul", {dy, a}, transposes(true, roles.ta))
                    : back.add(1, "matmul", {a, dy}, transposes(!roles.ta, false));
  }

  // The bias lies as the columns of y do, or is one term of a sum where y is.
  static void place_bias(PlacementRules& rules, int column_dim) {
    for (PlacementRule& rule : rules) {
      const Placement y = rule.outputs[0];
      const bool is_cut = y == sharded(column_dim);
      rule.inputs.push_back(is_cut ? sharded(0) : y == kPartialSum ? kPartialSum : kReplicated);
    }
  }
};

// dw = xᵀ·dy, or dyᵀ·x with tb; rows flattened
class MatmulDw final : public Operator {
 public:
  std::string_view name() const override { return "matmul_dw"; }
  std::vector<std::string_view> attribute_names() const override { return {"tb"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "dy"});
    operands.expect_rank_from(0, 2);
    const Shape &x = in[0].shape, &dy = in[1].shape;
    Shape expected = x;
    expected[x.rank() - 1] = dy.rank() > 0 ? dy.back() : 1;
    operands.expect_shape(1, expected);
    const bool tb = flag(node, "tb");
    return {make_type(product_dtype(operands), tb ? Shape{dy.back(), x.back()} : Shape{x.back(), dy.back()})};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const bool tb = flag(node, "tb");
    const int last = in[0].shape.rank() - 1;
    PlacementRules rules{{{sharded(last), kReplicated}, {sharded(tb ? 1 : 0)}},
                         {{kReplicated, sharded(last)}, {sharded(tb ? 0 : 1)}},
                         {{kPartialSum, kReplicated}, {kPartialSum}},
                         {{kReplicated, kPartialSum}, {kPartialSum}}};
    for (int dim = 0; dim < last; ++dim) rules.push_back({{sharded(dim), sharded(dim)}, {kPartialSum}});
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 2.0 * static_cast<double>(in[0].shape.count()) * static_cast<double>(in[1].shape.back());
  }
};

}  // namespace

OperatorList matrix_operators() {
  static const Matmul kMatmul;
  static const MatmulDw kMatmulDw;
  return {&kMatmul, &kMatmulDw};
}

}  // namespace hocket
