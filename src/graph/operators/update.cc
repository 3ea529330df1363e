#include <limits>

#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// scale = min(1, max/norm), norm = √Σg²
class ClipScale final : public Operator {
 public:
  std::string_view name() const override { return "clip_scale"; }
  std::vector<std::string_view> attribute_names() const override { return {"max"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    if (in.empty()) throw ConfigError("0 operands given, expected at least 1");
    const Operands operands(in, std::vector<std::string_view>(in.size(), "sums"));
    for (int i = 0; i < static_cast<int>(in.size()); ++i) {
      operands.expect_dtype(i, DType::f64);
      operands.expect_rank(i, 1);
    }
    real_between(node, "max", 0, 0, std::numeric_limits<double>::max());
    return {{DType::f32, {}}, {DType::f32, {}}};
  }
};

// Σ g² over blocks of 1,024 elements, counted through each operand anew
class SquareSums final : public Operator {
 public:
  std::string_view name() const override { return "square_sums"; }
  std::vector<std::string_view> attribute_names() const override { return {"begins", "size"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, std::vector<std::string_view>(in.size(), "g"));
    if (!in.empty()) operands.expect_float(0);
    const IntList begins = node.attributes.list("begins");
    const std::int64_t size = required_integer(node, "size", 1);
    if (begins.size() != in.size()) throw ConfigError("{} operands for {} begins", in.size(), begins.size());
    for (std::size_t i = 0; i < in.size(); ++i) {
      operands.expect_dtype_of(static_cast<int>(i), 0);
      const std::int64_t blocks = (in[i].shape.count() + kSquareBlock - 1) / kSquareBlock;
      if (begins[i] < 0 || begins[i] > size || blocks > size - begins[i]) {
        throw ConfigError("the {} sums of operand {} do not fit from {} on in {}", blocks, i, begins[i],
                          size);
      }
    }
    return {make_type(DType::f64, {size})};
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    double total = 0;
    for (const Type& type : in) total += 2.0 * static_cast<double>(type.shape.count());
    return total;
  }
};

// What an optimizer is: its state tensors (slots), each of its parameter's type, its attributes, its work an
// element.
struct UpdateFormula {
  std::string_view name;
  std::vector<std::string_view> slots;
  std::vector<std::string_view> attributes;
  double flops_per_element;
};

const std::vector<UpdateFormula>& formulas() {
  static const std::vector<UpdateFormula> kFormulas{
      {"sgd", {}, {"decay"}, 2},
      {"momentum", {"v"}, {"mu", "decay"}, 4},
      {"nesterov", {"v"}, {"mu", "decay"}, 6},
      {"adagrad", {"a"}, {"eps", "decay"}, 6},
      {"adam", {"m", "v"}, {"beta1", "beta2", "eps", "decay"}, 12},
      {"adamw", {"m", "v"}, {"beta1", "beta2", "eps", "decay"}, 14},
  };
  return kFormulas;
}

void check_constants(const Node& node) {
  for (const std::string_view rate : {"mu", "beta1", "beta2"}) real_between(node, rate, 0, 0, 1);
  for (const std::string_view size : {"eps", "decay"}) {
    real_between(node, size, 0, 0, std::numeric_limits<double>::max());
  }
}

// The operand of the learning rate, f64 (4), and behind it the slots like w and the optional scale.
void expect_tail(const Operands& operands, int hyper, int slots) {
  operands.expect_dtype(hyper, DType::f64);
  operands.expect_shape(hyper, {4});
  for (int slot = hyper + 1; slot <= hyper + slots; ++slot) operands.expect_like(slot, 0);
  const int scale = hyper + slots + 1;
  if (!operands.has(scale)) return;
  operands.expect_dtype(scale, DType::f32);
  operands.expect_shape(scale, Shape());
}

// w and its state ← the optimizer's rule for the gradient g
class Update final : public Operator {
 public:
  explicit Update(const UpdateFormula& formula) : formula_(formula) {}
  std::string_view name() const override { return formula_.name; }
  std::vector<std::string_view> attribute_names() const override { return formula_.attributes; }

  std::vector<int> updates() const override {
    std::vector<int> updated{0};
    for (int slot = 0; slot < slots(); ++slot) updated.push_back(3 + slot);
    return updated;
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    std::vector<std::string_view> names{"w", "g", "hyper"};
    names.insert(names.end(), formula_.slots.begin(), formula_.slots.end());
    names.push_back("scale");
    const Operands operands(in, std::move(names), 1);
    operands.expect_float(0);
    operands.expect_like(1, 0);
    expect_tail(operands, 2, slots());
    check_constants(node);
    return {};
  }

  // Element by element: any cut, also the flat one of ZeRO.
  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(static_cast<int>(in.size()), 0, in[0].shape.rank());
    rules.push_back(uniform_rule(static_cast<int>(in.size()), 0, kFlat));
    for (PlacementRule& rule : rules) {
      rule.inputs[2] = kReplicated;
      if (in.size() > static_cast<std::size_t>(3 + slots())) rule.inputs.back() = kReplicated;
    }
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return formula_.flops_per_element * static_cast<double>(in[0].shape.count());
  }

 private:
  int slots() const { return static_cast<int>(formula_.slots.size()); }

  UpdateFormula formula_;
};

// The same for the touched rows of w (V, d): rows (R, d), row_ids (R)
class RowsUpdate final : public Operator {
 public:
  explicit RowsUpdate(const UpdateFormula& formula)
      : formula_(formula), name_(std::string(formula.name) + "_rows") {
    formula_.attributes.push_back("part");
  }
  std::string_view name() const override { return name_; }
  std::vector<std::string_view> attribute_names() const override { return formula_.attributes; }

  std::vector<int> updates() const override {
    std::vector<int> updated{0};
    for (int slot = 0; slot < slots(); ++slot) updated.push_back(4 + slot);
    return updated;
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    std::vector<std::string_view> names{"w", "rows", "row_ids", "hyper"};
    names.insert(names.end(), formula_.slots.begin(), formula_.slots.end());
    names.push_back("scale");
    const Operands operands(in, std::move(names), 1);
    operands.expect_float(0);
    operands.expect_rank(0, 2);
    operands.expect_dtype_of(1, 0);
    operands.expect_rank(1, 2);
    operands.expect_shape(1, {in[1].shape[0], in[0].shape[1]});
    operands.expect_dtype(2, DType::i32);
    operands.expect_shape(2, {in[1].shape[0]});
    expect_tail(operands, 3, slots());
    expect_part(node);
    check_constants(node);
    return {};
  }

  // Cut by columns. By rows (each rank its part of the vocabulary) the rows are the same everywhere.
  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules;
    for (const int dim : {0, 1}) {
      rules.push_back({std::vector<Placement>(in.size(), kReplicated), {}});
      std::vector<Placement>& inputs = rules.back().inputs;
      for (const int updated : updates()) inputs[static_cast<std::size_t>(updated)] = sharded(dim);
      if (dim == 1) inputs[1] = sharded(1);
    }
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.inputs[0] == sharded(0)) choose_part(node, share);
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return formula_.flops_per_element * static_cast<double>(in[1].shape.count());
  }

 private:
  int slots() const { return static_cast<int>(formula_.slots.size()); }

  UpdateFormula formula_;
  std::string name_;
};

// sum ← sum + x
class Accumulate final : public Operator {
 public:
  std::string_view name() const override { return "accumulate"; }
  std::vector<int> updates() const override { return {0}; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"sum", "x"});
    operands.expect_float(0);
    operands.expect_like(1, 0);
    return {};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(2, 0, in[0].shape.rank());
    for (const Placement& placement : {kPartialSum, kFlat, kLocal}) {
      rules.push_back(uniform_rule(2, 0, placement));
    }
    return rules;
  }
};

}  // namespace

OperatorList update_operators() {
  static const SquareSums kSquareSums;
  static const ClipScale kClipScale;
  static const Accumulate kAccumulate;
  static const std::vector<Update> kUpdates(formulas().begin(), formulas().end());
  static const std::vector<RowsUpdate> kRowsUpdates(formulas().begin(), formulas().end());
  OperatorList list{&kSquareSums, &kClipScale, &kAccumulate};
  for (const auto& op : kUpdates) list.push_back(&op);
  for (const auto& op : kRowsUpdates) list.push_back(&op);
  return list;
}

}  // namespace hocket
