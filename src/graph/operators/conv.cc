#include <utility>

#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

struct ConvWindow {
  explicit ConvWindow(const Node& node)
      : stride(integer_from(node, "stride", 1, 1)),
        padding(integer_from(node, "padding", 0, 0)),
        groups(integer_from(node, "groups", 1, 1)),
        pool(integer_from(node, "pool", 1, 1)) {
    if (pool > kMostPool) throw ConfigError("pool={} is more than {}", pool, kMostPool);
  }

  bool has_pool() const { return pool > 1; }

  // The number of positions of a kernel of `size` on `length` elements.
  std::int64_t positions(std::int64_t length, std::int64_t size) const {
    if (size > length + 2 * padding) {
      throw ConfigError("the kernel's {} exceed the image's {} with padding {}", size, length, padding);
    }
    return (length + 2 * padding - size) / stride + 1;
  }

  std::int64_t stride, padding, groups, pool;

 private:
  static constexpr std::int64_t kMostPool = 16;  // A position in a window of 16 × 16 fits in u8.
};

// The shape of y for x (N, C, H, W) and w (O, C/groups, kh, kw).
Shape convolved(const ConvWindow& window, const Shape& x, const Shape& w) {
  if (x[1] % window.groups != 0 || w[0] % window.groups != 0) {
    throw ConfigError("groups={} does not divide {} input and {} output channels", window.groups, x[1], w[0]);
  }
  if (x[1] / window.groups != w[1]) {
    throw ConfigError("x has {} channels{} but w expects {}", x[1] / window.groups,
                      window.groups == 1 ? "" : " in each group", w[1]);
  }
  Shape y{x[0], w[0], window.positions(x[2], w[2]), window.positions(x[3], w[3])};
  if (y[2] % window.pool != 0 || y[3] % window.pool != 0)
    throw ConfigError("pool={} does not divide an image of {} × {}", window.pool, y[2], y[3]);
  return {y[0], y[1], y[2] / window.pool, y[3] / window.pool};
}

// The first two operands. In bf16 they make f32 results, which are not pooled.
DType expect_images(const Operands& operands, const ConvWindow& window) {
  operands.expect_rank(0, 4);
  operands.expect_rank(1, 4);
  operands.expect_dtype_of(1, 0);
  if (operands.dtype(0) == DType::bf16 && !window.has_pool()) return DType::f32;
  operands.expect_float(0);
  return operands.dtype(0);
}

double multiply_adds(const Node& node, const Shape& y, const Shape& w) {
  const std::int64_t pool = ConvWindow(node).pool;
  return 2.0 * static_cast<double>(y.count() * pool * pool) * static_cast<double>(w.count(1, 4));
}

// With a pool, the gradients read where each maximum was found. It lies as dy does.
void expect_index(const Operands& operands, const ConvWindow& window) {
  if (operands.has(2) != window.has_pool())
    throw ConfigError("pool={}: index is {}", window.pool,
                      operands.has(2) ? "one operand too many" : "missing");
  if (!operands.has(2)) return;
  operands.expect_dtype(2, DType::u8);
  operands.expect_shape(2, operands.shape(0));
}

PlacementRules with_index(PlacementRules rules, const Node& node) {
  for (PlacementRule& rule : rules) {
    const Placement dy = rule.inputs[0];
    if (ConvWindow(node).has_pool()) rule.inputs.push_back(dy == kPartialSum ? kReplicated : dy);
  }
  return rules;
}

// y[n,o,i,j] = act(Σ x[n,c,i·s+u−p,j·s+v−p]·w[o,c,u,v] + bias[o]); with a pool, the maximum of each window of
// these, and index = its first position in the window
class Conv2d final : public Operator {
 public:
  std::string_view name() const override { return "conv2d"; }
  std::vector<std::string_view> attribute_names() const override {
    return {"stride", "padding", "groups", "act", "pool"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "w", "bias"}, 1);
    const ConvWindow window(node);
    const DType dtype = expect_images(operands, window);
    if (operands.has(2)) {
      operands.expect_dtype(2, dtype);
      operands.expect_shape(2, {in[1].shape[0]});
    }
    has_relu(node);
    const Type y = make_type(dtype, convolved(window, in[0].shape, in[1].shape));
    if (!window.has_pool()) return {y};
    return {y, {DType::u8, y.shape}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Value first = only_first(node, dy);
    const Backward back(graph, node);
    const bool has_pool = ConvWindow(node).has_pool();
    const Value x = back.in(0), w = back.in(1);
    const Value d = back.cast_to(0, back.before_activation(first));
    Attributes image = back.attributes();
    image.erase("act");
    Attributes kernel = image;
    image.set("height", x.dim(2));
    image.set("width", x.dim(3));
    kernel.set("kernel", IntList{w.dim(2), w.dim(3)});
    if (back.in_count() == 2) kernel.set("bias", std::int64_t{0});
    const Value dx = has_pool ? back.add(0, "conv2d_dx", {d, w, back.out(1)}, image)
                              : back.add(0, "conv2d_dx", {d, w}, image);
    const std::vector<Value> dw = has_pool ? back.apply(1, "conv2d_dw", {d, x, back.out(1)}, kernel)
                                           : back.apply(1, "conv2d_dw", {d, x}, kernel);
    std::vector<Gradient> gradients{{back.cast_to(0, dx), {}}, {back.cast_to(1, dw[0]), {}}};
    if (back.in_count() == 3) gradients.push_back({dw[1], {}});
    return gradients;
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    PlacementRules rules{{{sharded(0), kReplicated}, {sharded(0)}}};
    const ConvWindow window(node);
    if (window.groups == 1) {
      rules.push_back({{kReplicated, sharded(0)}, {sharded(1)}});
      if (!has_relu(node) && !window.has_pool()) rules.push_back({{sharded(1), sharded(1)}, {kPartialSum}});
    }
    if (in.size() == 3) place_bias(rules);
    for (PlacementRule& rule : rules) {
      if (window.has_pool()) rule.outputs.push_back(rule.outputs[0]);
    }
    return rules;
  }

  double flops(const Node& node, std::span<const Type> in, std::span<const Type> out) const override {
    return multiply_adds(node, out[0].shape, in[1].shape);
  }

 private:
  // The bias lies as the channels of y do, or is one term of a sum where y is.
  static void place_bias(PlacementRules& rules) {
    for (PlacementRule& rule : rules) {
      const Placement y = rule.outputs[0];
      rule.inputs.push_back(y == sharded(1) ? sharded(0) : y == kPartialSum ? kPartialSum : kReplicated);
    }
  }
};

// dx = the transposed convolution of dy with w
class Conv2dDx final : public Operator {
 public:
  std::string_view name() const override { return "conv2d_dx"; }
  std::vector<std::string_view> attribute_names() const override {
    return {"stride", "padding", "groups", "height", "width", "pool"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "w", "index"}, 1);
    const ConvWindow window(node);
    const DType dtype = expect_images(operands, window);
    expect_index(operands, window);
    const Shape& w = in[1].shape;
    if (w[0] % window.groups != 0) {
      throw ConfigError("groups={} does not divide {} channels", window.groups, w[0]);
    }
    const Type dx =
        make_type(dtype, {in[0].shape[0], w[1] * window.groups, required_integer(node, "height", 1),
                          required_integer(node, "width", 1)});
    operands.expect_shape(0, convolved(window, dx.shape, w));
    return {dx};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type>) const override {
    PlacementRules rules{{{sharded(0), kReplicated}, {sharded(0)}},
                         {{kPartialSum, kReplicated}, {kPartialSum}}};
    if (ConvWindow(node).groups == 1) {
      rules.push_back({{sharded(1), sharded(0)}, {kPartialSum}});
      rules.push_back({{kReplicated, sharded(1)}, {sharded(1)}});
    }
    return with_index(std::move(rules), node);
  }

  double flops(const Node& node, std::span<const Type> in, std::span<const Type>) const override {
    return multiply_adds(node, in[0].shape, in[1].shape);
  }
};

// dw = the correlation of x with dy, dbias = Σ dy over samples and positions unless bias=0
class Conv2dDw final : public Operator {
 public:
  std::string_view name() const override { return "conv2d_dw"; }
  std::vector<std::string_view> attribute_names() const override {
    return {"stride", "padding", "groups", "kernel", "bias", "pool"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "x", "index"}, 1);
    const ConvWindow window(node);
    const DType dtype = expect_images(operands, window);
    expect_index(operands, window);
    const Shape &dy = in[0].shape, &x = in[1].shape;
    const IntList kernel = node.attributes.list("kernel");
    if (kernel.size() != 2) throw ConfigError("attribute kernel has {} entries, expected 2", kernel.size());
    if (x[1] % window.groups != 0) {
      throw ConfigError("groups={} does not divide {} channels", window.groups, x[1]);
    }
    const Type dw = make_type(dtype, {dy[1], x[1] / window.groups, kernel[0], kernel[1]});
    operands.expect_shape(0, convolved(window, x, dw.shape));
    if (!has_bias(node)) return {dw};
    return {dw, {dtype, {dy[1]}}};
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type>) const override {
    PlacementRules rules{{{sharded(0), sharded(0)}, {kPartialSum, kPartialSum}},
                         {{kPartialSum, kReplicated}, {kPartialSum, kPartialSum}}};
    if (ConvWindow(node).groups == 1) {
      rules.push_back({{sharded(1), kReplicated}, {sharded(0), sharded(0)}});
      rules.push_back({{kReplicated, sharded(1)}, {sharded(1), kReplicated}});
    }
    for (PlacementRule& rule : rules) {
      if (!has_bias(node)) rule.outputs.pop_back();
    }
    return with_index(std::move(rules), node);
  }

  double flops(const Node& node, std::span<const Type> in, std::span<const Type> out) const override {
    return multiply_adds(node, in[0].shape, out[0].shape);
  }

 private:
  static bool has_bias(const Node& node) { return integer_from(node, "bias", 1, 0) != 0; }
};

}  // namespace

OperatorList conv_operators() {
  static const Conv2d kConv2d;
  static const Conv2dDx kConv2dDx;
  static const Conv2dDw kConv2dDw;
  return {&kConv2d, &kConv2dDx, &kConv2dDw};
}

}  // namespace hocket
