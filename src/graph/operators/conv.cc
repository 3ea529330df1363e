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
        groups(integer_from(node, "groups", 1, 1)) {}

  // The number of positions of a kernel of `size` on `length` elements.
  std::int64_t positions(std::int64_t length, std::int64_t size) const {
    if (size > length + 2 * padding) {
      throw ConfigError("the kernel's {} exceed the image's {} with padding {}", size, length, padding);
    }
    return (length + 2 * padding - size) / stride + 1;
  }

  std::int64_t stride, padding, groups;
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
  return {x[0], w[0], window.positions(x[2], w[2]), window.positions(x[3], w[3])};
}

// bf16 operands make f32 results.
DType expect_images(const Operands& operands, int a, int b) {
  operands.expect_rank(a, 4);
  operands.expect_rank(b, 4);
  operands.expect_dtype_of(b, a);
  if (operands.dtype(a) == DType::bf16) return DType::f32;
  operands.expect_float(a);
  return operands.dtype(a);
}

double multiply_adds(const Shape& y, const Shape& w) {
  return 2.0 * static_cast<double>(y.count()) * static_cast<double>(w.count(1, 4));
}

// y[n,o,i,j] = act(Σ x[n,c,i·s+u−p,j·s+v−p]·w[o,c,u,v] + bias[o])
class Conv2d final : public Operator {
 public:
  std::string_view name() const override { return "conv2d"; }
  std::vector<std::string_view> attribute_names() const override {
    return {"stride", "padding", "groups", "act"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "w", "bias"}, 1);
    const DType dtype = expect_images(operands, 0, 1);
    if (operands.has(2)) {
      operands.expect_dtype(2, dtype);
      operands.expect_shape(2, {in[1].shape[0]});
    }
    has_relu(node);
    return {make_type(dtype, convolved(ConvWindow(node), in[0].shape, in[1].shape))};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const Value x = back.in(0), w = back.in(1);
    const Value d = back.cast_to(0, back.before_activation(dy[0]));
    Attributes image = back.attributes();
    image.erase("act");
    Attributes kernel = image;
    image.set("height", x.dim(2));
    image.set("width", x.dim(3));
    kernel.set("kernel", IntList{w.dim(2), w.dim(3)});
    if (back.in_count() == 2) kernel.set("bias", std::int64_t{0});
    const Value dx = back.add(0, "conv2d_dx", {d, w}, image);
    const std::vector<Value> dw = back.apply(1, "conv2d_dw", {d, x}, kernel);
    std::vector<Gradient> gradients{{back.cast_to(0, dx), {}}, {back.cast_to(1, dw[0]), {}}};
    if (back.in_count() == 3) gradients.push_back({dw[1], {}});
    return gradients;
  }

  std::vector<PlacementRule> placements(const Node& node, std::span<const Type> in) const override {
    PlacementRules rules{{{sharded(0), kReplicated}, {sharded(0)}}};
    if (ConvWindow(node).groups == 1) {
      rules.push_back({{kReplicated, sharded(0)}, {sharded(1)}});
      if (!has_relu(node)) rules.push_back({{sharded(1), sharded(1)}, {kPartialSum}});
    }
    if (in.size() == 3) place_bias(rules);
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type> out) const override {
    return multiply_adds(out[0].shape, in[1].shape);
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
    return {"stride", "padding", "groups", "height", "width"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "w"});
    const DType dtype = expect_images(operands, 0, 1);
    const ConvWindow window(node);
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
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return multiply_adds(in[0].shape, in[1].shape);
  }
};

// dw = the correlation of x with dy, dbias = Σ dy over samples and positions unless bias=0
class Conv2dDw final : public Operator {
 public:
  std::string_view name() const override { return "conv2d_dw"; }
  std::vector<std::string_view> attribute_names() const override {
    return {"stride", "padding", "groups", "kernel", "bias"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "x"});
    const DType dtype = expect_images(operands, 0, 1);
    const ConvWindow window(node);
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
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type> out) const override {
    return multiply_adds(in[0].shape, out[0].shape);
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
