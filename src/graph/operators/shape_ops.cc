#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// The attribute `key`, which has one entry for each dimension, all at least `least`; all `otherwise` when it
// is absent.
IntList per_dimension(const Node& node, std::string_view key, int rank, std::int64_t least,
                      std::optional<std::int64_t> otherwise = std::nullopt) {
  if (!node.attributes.has(key) && !otherwise) throw ConfigError("attribute {} is missing", key);
  IntList list = node.attributes.list(key, IntList(static_cast<std::size_t>(rank), otherwise.value_or(0)));
  if (list.size() != static_cast<std::size_t>(rank)) {
    throw ConfigError("attribute {} has {} entries for {} dimensions", key, list.size(), rank);
  }
  for (const std::int64_t entry : list) {
    if (entry < least || entry > kMaxElements) {
      throw ConfigError("attribute {} has an entry of {}, expected at least {} and at most {}", key, entry,
                        least, kMaxElements);
    }
  }
  return list;
}

// y = x with the same elements in the same order        dx = dy with x's shape
class Reshape final : public Operator {
 public:
  std::string_view name() const override { return "reshape"; }
  std::vector<std::string_view> attribute_names() const override { return {"shape"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    return {{in[0].dtype, target(node, in[0].shape)}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, "reshape", {dy[0]}, {{"shape", dims_of(back.in(0).shape())}}), {}}};
  }

  // A dimension stays cut evenly when as many elements lie before it as before: equal parts are then the same
  // elements, also where dimensions merge behind it or it splits.
  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Shape& x = in[0].shape;
    const Shape y = target(node, x);
    PlacementRules rules{uniform_rule(1, 1, kPartialSum)};
    for (int from = 0; from < x.rank(); ++from) {
      for (int to = 0; to < y.rank(); ++to) {
        const bool is_same = x.count(0, from) == y.count(0, to) && x[from] > 1 && y[to] > 1;
        if (is_same) rules.push_back({{sharded(from)}, {sharded(to)}});
      }
    }
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    divide_entry(node, "shape", rule.outputs[0], share.count);
  }

 private:
  static Shape target(const Node& node, const Shape& x) {
    if (!node.attributes.has("shape")) throw ConfigError("attribute shape is missing");
    IntList dims = node.attributes.list("shape");
    std::int64_t known = 1;
    std::int64_t* open = nullptr;
    for (std::int64_t& dim : dims) {
      if (dim == -1 && open == nullptr) {
        open = &dim;
        continue;
      }
      if (dim < 1 || known > kMaxElements / dim) {
        throw ConfigError("x {} cannot have {}", to_string(x), describe(node));
      }
      known *= dim;
    }
    if (open != nullptr) *open = x.count() / known;
    if (known * (open != nullptr ? *open : 1) != x.count()) {
      throw ConfigError("x {} has {} elements, which do not fill {}", to_string(x), x.count(),
                        describe(node));
    }
    return Shape(dims);
  }

  static std::string describe(const Node& node) {
    return fmt::format("shape=[{}]", fmt::join(node.attributes.list("shape"), ","));
  }
};

// y[i…] = x with dimension i of y being dimension perm[i] of x        dx = the inverse permutation of dy
class Transpose final : public Operator {
 public:
  std::string_view name() const override { return "transpose"; }
  std::vector<std::string_view> attribute_names() const override { return {"perm"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    const IntList perm = permutation(node, in[0].shape.rank());
    Shape y = in[0].shape;
    for (int dim = 0; dim < y.rank(); ++dim) y[dim] = in[0].shape[source(perm, dim)];
    return {{in[0].dtype, y}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const IntList perm = permutation(node, dy[0].shape().rank());
    IntList inverse(perm.size());
    for (std::size_t i = 0; i < perm.size(); ++i) {
      inverse[static_cast<std::size_t>(perm[i])] = static_cast<int>(i);
    }
    return {{back.add(0, "transpose", {dy[0]}, {{"perm", inverse}}), {}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const IntList perm = permutation(node, in[0].shape.rank());
    PlacementRules rules{uniform_rule(1, 1, kPartialSum)};
    for (int dim = 0; dim < in[0].shape.rank(); ++dim) {
      rules.push_back({{sharded(source(perm, dim))}, {sharded(dim)}});
    }
    return rules;
  }

 private:
  static int source(const IntList& perm, int dim) {
    return static_cast<int>(perm[static_cast<std::size_t>(dim)]);
  }

  static IntList permutation(const Node& node, int rank) {
    IntList perm = per_dimension(node, "perm", rank, 0);
    std::vector<bool> seen(static_cast<std::size_t>(rank), false);
    for (const std::int64_t dim : perm) {
      if (dim >= rank || seen[static_cast<std::size_t>(dim)]) {
        throw ConfigError("perm=[{}] is no permutation of {} dimensions", fmt::join(perm, ","), rank);
      }
      seen[static_cast<std::size_t>(dim)] = true;
    }
    return perm;
  }
};

// y[i] = x[begin + i·step] for begin + i·step < end, in every dimension        dx = unslice(dy)
class Slice final : public Operator {
 public:
  std::string_view name() const override { return "slice"; }
  std::vector<std::string_view> attribute_names() const override { return {"begin", "end", "step"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    const Shape& x = in[0].shape;
    const IntList begin = per_dimension(node, "begin", x.rank(), 0, 0);
    const IntList end = per_dimension(node, "end", x.rank(), -1, -1);
    const IntList step = per_dimension(node, "step", x.rank(), 1, 1);
    Shape y = x;
    for (int dim = 0; dim < x.rank(); ++dim) {
      const auto i = static_cast<std::size_t>(dim);
      const std::int64_t last = end[i] == -1 ? x[dim] : end[i];
      if (begin[i] >= last || last > x[dim]) {
        throw ConfigError("[{}, {}) is no range of dimension {} of x {}", begin[i], last, dim, to_string(x));
      }
      y[dim] = (last - begin[i] - 1) / step[i] + 1;
    }
    return {{in[0].dtype, y}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const Shape x = back.in(0).shape();
    const IntList begin = per_dimension(node, "begin", x.rank(), 0, 0);
    const IntList step = per_dimension(node, "step", x.rank(), 1, 1);
    return {{back.add(0, "unslice", {dy[0]}, {{"shape", dims_of(x)}, {"begin", begin}, {"step", step}}), {}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Shape y = infer(node, in)[0].shape;
    PlacementRules rules{uniform_rule(1, 1, kPartialSum)};
    for (int dim = 0; dim < y.rank(); ++dim) {
      if (y[dim] == in[0].shape[dim]) rules.push_back(uniform_rule(1, 1, sharded(dim)));
    }
    return rules;
  }

  // What is cut is taken whole.
  void localize(Node& node, const PlacementRule& rule, AxisShare) const override {
    const auto* cut = std::get_if<Sharded>(&rule.outputs[0]);
    if (cut == nullptr || !node.attributes.has("end")) return;
    IntList end = node.attributes.list("end");
    end[static_cast<std::size_t>(cut->dim)] = -1;
    node.attributes.set("end", end);
  }
};

// dx = zeros of `shape` with dy at begin + i·step        ddy = slice(ddx)
class Unslice final : public Operator {
 public:
  std::string_view name() const override { return "unslice"; }
  std::vector<std::string_view> attribute_names() const override { return {"shape", "begin", "step"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy"});
    const Shape x = shape_attribute(node, "shape");
    operands.expect_rank(0, x.rank());
    const IntList end = ends(node, in[0].shape);
    for (int dim = 0; dim < x.rank(); ++dim) {
      if (end[static_cast<std::size_t>(dim)] > x[dim]) {
        throw ConfigError("dy {} does not fit into {} in dimension {}", to_string(in[0].shape), to_string(x),
                          dim);
      }
    }
    return {{in[0].dtype, x}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    Attributes attributes = back.attributes();
    attributes.erase("shape");
    attributes.set("end", ends(node, back.in(0).shape()));
    return {{back.add(0, "slice", {dy[0]}, attributes), {}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Shape x = shape_attribute(node, "shape");
    PlacementRules rules{uniform_rule(1, 1, kPartialSum)};
    for (int dim = 0; dim < x.rank(); ++dim) {
      if (x[dim] == in[0].shape[dim]) rules.push_back(uniform_rule(1, 1, sharded(dim)));
    }
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    divide_entry(node, "shape", rule.outputs[0], share.count);
  }

 private:
  // One behind the last position taken, in every dimension; kMaxElements + 1 where that is beyond any tensor.
  static IntList ends(const Node& node, const Shape& part) {
    const IntList begin = per_dimension(node, "begin", part.rank(), 0, 0);
    const IntList step = per_dimension(node, "step", part.rank(), 1, 1);
    IntList result;
    for (int dim = 0; dim < part.rank(); ++dim) {
      const auto i = static_cast<std::size_t>(dim);
      const bool is_far = part[dim] - 1 > (kMaxElements - begin[i]) / step[i];
      result.push_back(is_far ? kMaxElements + 1 : begin[i] + (part[dim] - 1) * step[i] + 1);
    }
    return result;
  }
};

// y = x with `before` and `after` zeros around each dimension        dx = the inner part of dy
class Pad final : public Operator {
 public:
  std::string_view name() const override { return "pad"; }
  std::vector<std::string_view> attribute_names() const override { return {"before", "after"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    Shape y = in[0].shape;
    const IntList before = per_dimension(node, "before", y.rank(), 0, 0);
    const IntList after = per_dimension(node, "after", y.rank(), 0, 0);
    for (int dim = 0; dim < y.rank(); ++dim) {
      y[dim] += before[static_cast<std::size_t>(dim)] + after[static_cast<std::size_t>(dim)];
    }
    return {make_type(in[0].dtype, y)};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const Shape x = back.in(0).shape();
    const IntList begin = per_dimension(node, "before", x.rank(), 0, 0);
    IntList end = begin;
    for (int dim = 0; dim < x.rank(); ++dim) end[static_cast<std::size_t>(dim)] += x[dim];
    return {{back.add(0, "slice", {dy[0]}, {{"begin", begin}, {"end", end}}), {}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const Shape y = infer(node, in)[0].shape;
    PlacementRules rules{uniform_rule(1, 1, kPartialSum)};
    for (int dim = 0; dim < y.rank(); ++dim) {
      if (y[dim] == in[0].shape[dim]) rules.push_back(uniform_rule(1, 1, sharded(dim)));
    }
    return rules;
  }
};

// y = the operands one behind the other along `axis`        dxᵢ = its part of dy
class Concat final : public Operator {
 public:
  std::string_view name() const override { return "concat"; }
  std::vector<std::string_view> attribute_names() const override { return {"axis"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    if (in.empty()) throw ConfigError("0 operands given, expected at least 1");
    const Operands operands(in, std::vector<std::string_view>(in.size(), "x"));
    Shape y = in[0].shape;
    const int axis = join_axis(node, y.rank());
    for (std::size_t i = 1; i < in.size(); ++i) {
      Shape expected = in[0].shape;
      if (in[i].shape.rank() == y.rank()) expected[axis] = in[i].shape[axis];
      if (in[i] != Type{in[0].dtype, expected}) {
        throw ConfigError("operand {} is {} but the first is {}: they differ beyond axis {}", i + 1,
                          to_string(in[i]), to_string(in[0]), axis);
      }
      y[axis] += in[i].shape[axis];
      if (y[axis] > kMaxElements) throw ConfigError("the result has more than {} elements", kMaxElements);
    }
    return {make_type(in[0].dtype, y)};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const Shape y = dy[0].shape();
    const auto axis = static_cast<std::size_t>(join_axis(node, y.rank()));
    IntList begin(static_cast<std::size_t>(y.rank()), 0);
    IntList end = dims_of(y);
    std::vector<Gradient> gradients;
    for (int i = 0; i < back.in_count(); ++i) {
      end[axis] = begin[axis] + back.in(i).shape()[static_cast<int>(axis)];
      gradients.push_back({back.add(i, "slice", {dy[0]}, {{"begin", begin}, {"end", end}}), {}});
      begin[axis] = end[axis];
    }
    return gradients;
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    const int rank = in[0].shape.rank();
    const int count = static_cast<int>(in.size());
    PlacementRules rules = same_cut(count, 1, rank);
    rules.erase(rules.begin() + join_axis(node, rank));
    rules.push_back(uniform_rule(count, 1, kPartialSum));
    return rules;
  }

 private:
  static int join_axis(const Node& node, int rank) {
    if (!node.attributes.has("axis")) throw ConfigError("attribute axis is missing");
    return axis_of(node.attributes.integer("axis", 0), rank);
  }
};

// y = x stored in another layout; made by the layout pass
class ToLayout final : public Operator {
 public:
  std::string_view name() const override { return "to_layout"; }
  std::vector<std::string_view> attribute_names() const override { return {"from", "to"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_rank(0, 4);
    for (const std::string_view key : {"from", "to"}) {
      const std::string layout = node.attributes.text(key, "");
      if (layout != "plain" && layout != "channels_last") {
        throw ConfigError("attribute {}={} must be plain or channels_last", key, layout);
      }
    }
    return {in[0]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(1, 1, in[0].shape.rank());
    rules.push_back(uniform_rule(1, 1, kPartialSum));
    return rules;
  }
};

}  // namespace

OperatorList shape_operators() {
  static const Reshape kReshape;
  static const Transpose kTranspose;
  static const Slice kSlice;
  static const Unslice kUnslice;
  static const Pad kPad;
  static const Concat kConcat;
  static const ToLayout kToLayout;
  return {&kReshape, &kTranspose, &kSlice, &kUnslice, &kPad, &kConcat, &kToLayout};
}

}  // namespace hocket
