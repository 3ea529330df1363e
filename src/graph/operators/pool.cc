#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// The window of max_pool and avg_pool. Every position sees an element of the image, because padding ≤
// kernel/2.
struct PoolWindow {
  explicit PoolWindow(const Node& node)
      : kernel(required_integer(node, "kernel", 1)),
        stride(integer_from(node, "stride", kernel, 1)),
        padding(integer_from(node, "padding", 0, 0)) {
    if (padding > kernel / 2) throw ConfigError("padding={} is more than half of kernel={}", padding, kernel);
  }

  std::int64_t positions(std::int64_t length) const {
    if (kernel > length + 2 * padding) {
      throw ConfigError("kernel={} exceeds the image's {} with padding {}", kernel, length, padding);
    }
    return (length + 2 * padding - kernel) / stride + 1;
  }

  Shape pooled(const Shape& x) const { return {x[0], x[1], positions(x[2]), positions(x[3])}; }

  std::int64_t kernel, stride, padding;
};

constexpr std::int64_t kMaxIndexedKernel = 16;  // A position in a window of 16 × 16 fits in u8.

Shape image_shape(const Node& node, const Shape& like) {
  return {like[0], like[1], required_integer(node, "height", 1), required_integer(node, "width", 1)};
}

Attributes with_size(const Attributes& attributes, const Shape& x) {
  Attributes result = attributes;
  result.set("height", x[2]);
  result.set("width", x[3]);
  return result;
}

double window_work(const Node& node, const Shape& y) {
  const auto kernel = static_cast<double>(PoolWindow(node).kernel);
  return kernel * kernel * static_cast<double>(y.count());
}

// y = the maximum of each window, index = its first position in the window
class MaxPool final : public Operator {
 public:
  std::string_view name() const override { return "max_pool"; }
  std::vector<std::string_view> attribute_names() const override { return {"kernel", "stride", "padding"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_rank(0, 4);
    operands.expect_float(0);
    const PoolWindow window(node);
    if (window.kernel > kMaxIndexedKernel) {
      throw ConfigError("kernel={} of max_pool is more than {}", window.kernel, kMaxIndexedKernel);
    }
    const Type y = make_type(in[0].dtype, window.pooled(in[0].shape));
    return {y, {DType::u8, y.shape}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Value d = only_first(node, dy);
    const Backward back(graph, node);
    const Attributes attributes = with_size(back.attributes(), back.in(0).shape());
    return {{back.add(0, "max_pool_dx", {d, back.out(1)}, attributes), {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return same_cut(1, 2, 2);
  }

  double flops(const Node& node, std::span<const Type>, std::span<const Type> out) const override {
    return window_work(node, out[0].shape);
  }
};

// y = the mean of each window, zeros of the padding included
class AvgPool final : public Operator {
 public:
  std::string_view name() const override { return "avg_pool"; }
  std::vector<std::string_view> attribute_names() const override { return {"kernel", "stride", "padding"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_rank(0, 4);
    operands.expect_float(0);
    return {make_type(in[0].dtype, PoolWindow(node).pooled(in[0].shape))};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, "avg_pool_dx", {dy[0]}, with_size(back.attributes(), back.in(0).shape())), {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    PlacementRules rules = same_cut(1, 1, 2);
    rules.push_back(uniform_rule(1, 1, kPartialSum));
    return rules;
  }

  double flops(const Node& node, std::span<const Type>, std::span<const Type> out) const override {
    return window_work(node, out[0].shape);
  }
};

// dx = dy at the maximum of its window (max), or spread over its window (avg)
class PoolDx final : public Operator {
 public:
  enum class Kind : std::uint8_t { max, avg };
  PoolDx(std::string_view name, Kind kind) : name_(name), kind_(kind) {}
  std::string_view name() const override { return name_; }
  std::vector<std::string_view> attribute_names() const override {
    return {"kernel", "stride", "padding", "height", "width"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands = kind_ == Kind::max ? Operands(in, {"dy", "index"}) : Operands(in, {"dy"});
    operands.expect_rank(0, 4);
    operands.expect_float(0);
    const Type dx = make_type(in[0].dtype, image_shape(node, in[0].shape));
    operands.expect_shape(0, PoolWindow(node).pooled(dx.shape));
    if (kind_ == Kind::max) {
      operands.expect_dtype(1, DType::u8);
      operands.expect_shape(1, in[0].shape);
    }
    return {dx};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(static_cast<int>(in.size()), 1, 2);
    rules.push_back({std::vector<Placement>(in.size(), kReplicated), {kPartialSum}});
    rules.back().inputs[0] = kPartialSum;
    return rules;
  }

  double flops(const Node& node, std::span<const Type> in, std::span<const Type>) const override {
    return window_work(node, in[0].shape);
  }

 private:
  std::string_view name_;
  Kind kind_;
};

// y[n,c] = the mean of x[n,c]
class GlobalAvgPool final : public Operator {
 public:
  std::string_view name() const override { return "global_avg_pool"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_rank(0, 4);
    operands.expect_float(0);
    return {{in[0].dtype, {in[0].shape[0], in[0].shape[1]}}};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, "global_avg_pool_dx", {dy[0]}, with_size({}, back.in(0).shape())), {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    PlacementRules rules = same_cut(1, 1, 2);
    rules.push_back(uniform_rule(1, 1, kPartialSum));
    return rules;
  }
};

class GlobalAvgPoolDx final : public Operator {
 public:
  std::string_view name() const override { return "global_avg_pool_dx"; }
  std::vector<std::string_view> attribute_names() const override { return {"height", "width"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy"});
    operands.expect_rank(0, 2);
    operands.expect_float(0);
    return {make_type(in[0].dtype, image_shape(node, in[0].shape))};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    PlacementRules rules = same_cut(1, 1, 2);
    rules.push_back(uniform_rule(1, 1, kPartialSum));
    return rules;
  }
};

}  // namespace

OperatorList pool_operators() {
  static const MaxPool kMaxPool;
  static const AvgPool kAvgPool;
  static const PoolDx kMaxPoolDx("max_pool_dx", PoolDx::Kind::max);
  static const PoolDx kAvgPoolDx("avg_pool_dx", PoolDx::Kind::avg);
  static const GlobalAvgPool kGlobalAvgPool;
  static const GlobalAvgPoolDx kGlobalAvgPoolDx;
  return {&kMaxPool, &kMaxPoolDx, &kAvgPool, &kAvgPoolDx, &kGlobalAvgPool, &kGlobalAvgPoolDx};
}

}  // namespace hocket
