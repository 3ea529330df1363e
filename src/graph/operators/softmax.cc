#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

double five_per_element(std::span<const Type> in) { return 5.0 * static_cast<double>(in[0].shape.count()); }

// y = softmax or log-softmax of x over the last dimension
class Softmax final : public Operator {
 public:
  Softmax(std::string_view name, std::string_view grad) : name_(name), grad_(grad) {}
  std::string_view name() const override { return name_; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_float(0);
    operands.expect_rank_from(0, 1);
    return {in[0]};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    return {{back.add(0, grad_, {dy[0], back.out(0)}), {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    return same_cut(1, 1, in[0].shape.rank() - 1);
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return five_per_element(in);
  }

 private:
  std::string_view name_, grad_;
};

// softmax: dx = y·(dy − Σ dy·y)        log-softmax: dx = dy − exp(y)·Σ dy
class SoftmaxGrad final : public Operator {
 public:
  explicit SoftmaxGrad(std::string_view name) : name_(name) {}
  std::string_view name() const override { return name_; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "y"});
    operands.expect_float(0);
    operands.expect_rank_from(0, 1);
    operands.expect_like(1, 0);
    return {in[0]};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    PlacementRules rules = same_cut(2, 1, in[0].shape.rank() - 1);
    rules.push_back({{kPartialSum, kReplicated}, {kPartialSum}});
    return rules;
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return five_per_element(in);
  }

 private:
  std::string_view name_;
};

// y = the index of the first maximum over the last dimension
class Argmax final : public Operator {
 public:
  std::string_view name() const override { return "argmax"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_float(0);
    operands.expect_rank_from(0, 1);
    const Shape& x = in[0].shape;
    return {{DType::i32, Shape(std::span(x.begin(), static_cast<std::size_t>(x.rank() - 1)))}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    return same_cut(1, 1, in[0].shape.rank() - 1);
  }
};

}  // namespace

OperatorList softmax_operators() {
  static const Softmax kSoftmax("softmax", "softmax_grad");
  static const Softmax kLogSoftmax("log_softmax", "log_softmax_grad");
  static const SoftmaxGrad kSoftmaxGrad("softmax_grad");
  static const SoftmaxGrad kLogSoftmaxGrad("log_softmax_grad");
  static const Argmax kArgmax;
  return {&kSoftmax, &kSoftmaxGrad, &kLogSoftmax, &kLogSoftmaxGrad, &kArgmax};
}

}  // namespace hocket
