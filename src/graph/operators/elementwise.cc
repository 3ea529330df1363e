#include <algorithm>

#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// The shape that both operands broadcast to, as NumPy does: aligned at the last dimension, 1 stretches.
Shape broadcast(const Shape& a, const Shape& b) {
  Shape y = a.rank() >= b.rank() ? a : b;
  const Shape& other = a.rank() >= b.rank() ? b : a;
  const int skipped = y.rank() - other.rank();
  for (int dim = 0; dim < other.rank(); ++dim) {
    std::int64_t& wide = y[dim + skipped];
    if (wide != other[dim] && wide != 1 && other[dim] != 1) {
      throw ConfigError("a has shape {} and b {}, which do not broadcast", to_string(a), to_string(b));
    }
    wide = std::max(wide, other[dim]);
  }
  return y;
}

// Where an operand of shape `x` lies when the result of shape `y` is cut along `dim`.
Placement broadcast_cut(const Shape& x, const Shape& y, int dim) {
  const int own = dim - (y.rank() - x.rank());
  return own >= 0 && x[own] == y[dim] ? sharded(own) : kReplicated;
}

// y = a ∘ b with broadcasting. How a binary operator differs: its gradient and which operands it is linear
// in.
struct BinaryRule {
  std::string_view name;
  Value (*da)(const Backward& back, Value dy);
  Value (*db)(const Backward& back, Value dy);
  PlacementRules linear;
};

class BinaryOperator final : public Operator {
 public:
  explicit BinaryOperator(BinaryRule rule) : rule_(std::move(rule)) {}
  std::string_view name() const override { return rule_.name; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"a", "b"});
    operands.expect_float(0);
    operands.expect_dtype_of(1, 0);
    return {make_type(in[0].dtype, broadcast(in[0].shape, in[1].shape))};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.summed_to(0, rule_.da(back, dy[0])), {}}, {back.summed_to(1, rule_.db(back, dy[0])), {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    const Shape &a = in[0].shape, &b = in[1].shape;
    const Shape y = broadcast(a, b);
    PlacementRules rules = rule_.linear;
    for (int dim = 0; dim < y.rank(); ++dim) {
      rules.push_back({{broadcast_cut(a, y, dim), broadcast_cut(b, y, dim)}, {sharded(dim)}});
    }
    return rules;
  }

 private:
  BinaryRule rule_;
};

Value same(const Backward&, Value dy) { return dy; }
Value negated(const Backward& back, Value dy) { return back.add(1, "scale", {dy}, {{"factor", -1.0}}); }

const std::vector<BinaryOperator>& binary_operators() {
  static const PlacementRule kBoth{{kPartialSum, kPartialSum}, {kPartialSum}};
  static const PlacementRule kLeft{{kPartialSum, kReplicated}, {kPartialSum}};
  static const PlacementRule kRight{{kReplicated, kPartialSum}, {kPartialSum}};
  static const std::vector<BinaryOperator> kOperators{
      BinaryOperator({"add", same, same, {kBoth}}),
      BinaryOperator({"sub", same, negated, {kBoth}}),
      BinaryOperator({"mul",
                      [](const Backward& back, Value dy) {
                        return back.add(0, "mul", {dy, back.in(1)});
                      },
                      [](const Backward& back, Value dy) {
                        return back.add(1, "mul", {dy, back.in(0)});
                      },
                      {kLeft, kRight}}),
      BinaryOperator(
          {"div",
           [](const Backward& back, Value dy) {
             return back.add(0, "div", {dy, back.in(1)});
           },
           [](const Backward& back, Value dy) {  // d(a/b)/db = -y/b
             const Value part = back.add(1, "div", {back.add(1, "mul", {dy, back.out(0)}), back.in(1)});
             return negated(back, part);
           },
           {kLeft}}),
  };
  return kOperators;
}

// y = f(x). `reads` is what the gradient needs besides dy.
enum class Reads : std::uint8_t { x, y };
struct UnaryRule {
  std::string_view name, grad;
  Reads reads;
};

class UnaryOperator final : public Operator {
 public:
  explicit UnaryOperator(UnaryRule rule) : rule_(rule) {}
  std::string_view name() const override { return rule_.name; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_float(0);
    return {in[0]};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, rule_.grad, {dy[0], rule_.reads == Reads::x ? back.in(0) : back.out(0)}), {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    return same_cut(1, 1, in[0].shape.rank());
  }

 private:
  UnaryRule rule_;
};

// dx = dy · f'(…)
class UnaryGrad final : public Operator {
 public:
  UnaryGrad(std::string_view name, Reads reads) : name_(name), reads_(reads) {}
  std::string_view name() const override { return name_; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", reads_ == Reads::x ? "x" : "y"});
    operands.expect_float(0);
    operands.expect_like(1, 0);
    return {in[0]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(2, 1, in[0].shape.rank());
    rules.push_back({{kPartialSum, kReplicated}, {kPartialSum}});
    return rules;
  }

 private:
  std::string_view name_;
  Reads reads_;
};

// dx = dy + dy2 where y > 0, else 0
class ReluGrad final : public Operator {
 public:
  std::string_view name() const override { return "relu_grad"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "y", "dy2"}, 1);
    operands.expect_float(0);
    operands.expect_like(1, 0);
    if (operands.has(2)) operands.expect_like(2, 0);
    return {in[0]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(static_cast<int>(in.size()), 1, in[0].shape.rank());
    rules.push_back({{kPartialSum, kReplicated}, {kPartialSum}});
    if (in.size() == 3) rules.back().inputs.push_back(kPartialSum);
    return rules;
  }
};

// y = factor·x + offset        dx = factor·dy
class Scale final : public Operator {
 public:
  std::string_view name() const override { return "scale"; }
  std::vector<std::string_view> attribute_names() const override { return {"factor", "offset"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_float(0);
    node.attributes.real("factor", 1);
    node.attributes.real("offset", 0);
    return {in[0]};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const double factor = back.attributes().real("factor", 1);
    return {{factor == 1 ? dy[0] : back.add(0, "scale", {dy[0]}, {{"factor", factor}}), {}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(1, 1, in[0].shape.rank());
    if (node.attributes.real("offset", 0) == 0) rules.push_back(uniform_rule(1, 1, kPartialSum));
    return rules;
  }
};

// y = x/(1−rate) where a hash of (seed, stream, step, element) says so, else 0        dx: the same of dy
class Dropout final : public Operator {
 public:
  std::string_view name() const override { return "dropout"; }
  std::vector<std::string_view> attribute_names() const override {
    return {"rate", "stream", "dim", "part", "parts"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "key"});
    operands.expect_float(0);
    operands.expect_rank_from(0, 1);
    operands.expect_dtype(1, DType::i64);
    operands.expect_shape(1, {3});
    if (!node.attributes.has("rate")) throw ConfigError("attribute rate is missing");
    if (real_between(node, "rate", 0, 0, 1) == 1) throw ConfigError("attribute rate=1 must be less than 1");
    node.attributes.integer("stream", 0);
    expect_parts(node);
    axis_of(integer_from(node, "dim", 0, 0), in[0].shape.rank());
    return {in[0]};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, "dropout", {dy[0], back.in(1)}, back.attributes()), {}}, {}};
  }

  // The key holds the index of the first sample, so each rank that has its own samples has its own key. Of
  // another dimension that is cut the node knows which part it has.
  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules{{{sharded(0), kLocal}, {sharded(0)}}, {{kPartialSum, kReplicated}, {kPartialSum}}};
    for (int dim = 1; dim < in[0].shape.rank(); ++dim) {
      rules.push_back({{sharded(dim), kReplicated}, {sharded(dim)}});
    }
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    const auto* cut = std::get_if<Sharded>(&rule.outputs[0]);
    if (cut == nullptr || cut->dim == 0) return;
    node.attributes.set("dim", std::int64_t{cut->dim});
    choose_part(node, share);
    count_parts(node, share);
  }
};

// y = x in another dtype        dx = dy in x's dtype; none for integers
class Cast final : public Operator {
 public:
  std::string_view name() const override { return "cast"; }
  std::vector<std::string_view> attribute_names() const override { return {"dtype"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    return {{target(node), in[0].shape}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    if (!is_float(back.in(0).type().dtype) || !is_float(target(node))) return {{}};
    return {{back.cast_to(0, dy[0]), {}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(1, 1, in[0].shape.rank());
    const bool is_linear = is_float(in[0].dtype) && is_float(target(node));
    if (is_linear) rules.push_back(uniform_rule(1, 1, kPartialSum));
    return rules;
  }

 private:
  static bool is_float(DType dtype) {
    return dtype != DType::i32 && dtype != DType::i64 && dtype != DType::u8;
  }

  static DType target(const Node& node) {
    const std::string word = node.attributes.text("dtype", "");
    const std::optional<DType> dtype = find_dtype(word);
    if (!dtype) throw ConfigError("attribute dtype={} must be f32, f64, bf16, f16, i32, i64 or u8", word);
    return *dtype;
  }
};

}  // namespace

OperatorList elementwise_operators() {
  static const std::vector<UnaryOperator> kUnary{
      UnaryOperator({"relu", "relu_grad", Reads::y}), UnaryOperator({"tanh", "tanh_grad", Reads::y}),
      UnaryOperator({"sigmoid", "sigmoid_grad", Reads::y}), UnaryOperator({"gelu", "gelu_grad", Reads::x}),
      UnaryOperator({"exp", "mul", Reads::y})};
  static const std::vector<UnaryGrad> kGrads{
      {"tanh_grad", Reads::y}, {"sigmoid_grad", Reads::y}, {"gelu_grad", Reads::x}};
  static const ReluGrad kReluGrad;
  static const Scale kScale;
  static const Dropout kDropout;
  static const Cast kCast;
  OperatorList list{&kScale, &kDropout, &kCast, &kReluGrad};
  for (const auto& op : binary_operators()) list.push_back(&op);
  for (const auto& op : kUnary) list.push_back(&op);
  for (const auto& op : kGrads) list.push_back(&op);
  return list;
}

}  // namespace hocket
