// Sparse rows (CSR) times a dense matrix. The rows of a batch have no even cut: on several ranks each holds
// its own, so values, columns and offsets are Local where the batch is sharded.
#include <limits>

#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// The number of rows that values, columns and offsets, the operands from `first` on, describe.
std::int64_t expect_csr(const Operands& operands, int first) {
  operands.expect_float(first);
  operands.expect_rank(first, 1);
  operands.expect_dtype(first + 1, DType::i32);
  operands.expect_shape(first + 1, operands.shape(first));
  operands.expect_dtype(first + 2, DType::i32);
  operands.expect_rank(first + 2, 1);
  const std::int64_t offsets = operands.shape(first + 2)[0];
  if (offsets < 2) {
    throw ConfigError("offsets has {} elements, expected one more than there are rows", offsets);
  }
  return offsets - 1;
}

// The width of dy (N, k) for the sparse rows behind it.
std::int64_t expect_dy(const Operands& operands) {
  const std::int64_t rows = expect_csr(operands, 1);
  operands.expect_dtype_of(0, 1);
  operands.expect_rank(0, 2);
  operands.expect_shape(0, {rows, operands.shape(0)[1]});
  return operands.shape(0)[1];
}

double entry_flops(const Shape& values, std::int64_t width) {
  return 2.0 * static_cast<double>(values.count()) * static_cast<double>(width);
}

// y[n] = Σ over the entries z of row n of values[z]·w[columns[z]]        values are data and have no gradient
class CsrMatmul final : public Operator {
 public:
  std::string_view name() const override { return "csr_matmul"; }
  std::vector<std::string_view> attribute_names() const override { return {"part"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"values", "columns", "offsets", "w"});
    const std::int64_t rows = expect_csr(operands, 0);
    operands.expect_dtype_of(3, 0);
    operands.expect_rank(3, 2);
    expect_part(node);
    return {make_type(in[3].dtype, {rows, in[3].shape[1]})};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    const Value values = back.in(0), columns = back.in(1), offsets = back.in(2), w = back.in(3);
    if (w.info().attributes.integer("sparse", 0) != 0) {
      const auto grad = back.apply(3, "csr_matmul_dw_rows", {dy[0], values, columns, offsets});
      return {{}, {}, {}, {grad[0], grad[1]}};
    }
    const Value dw =
        back.add(3, "csr_matmul_dw", {dy[0], values, columns, offsets}, {{"features", w.dim(0)}});
    return {{}, {}, {}, {dw, {}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {{{kLocal, kLocal, kLocal, kReplicated}, {sharded(0)}},
            {{kReplicated, kReplicated, kReplicated, sharded(0)}, {kPartialSum}},
            {{kReplicated, kReplicated, kReplicated, sharded(1)}, {sharded(1)}}};
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.inputs[3] == sharded(0)) choose_part(node, share);
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return entry_flops(in[0].shape, in[3].shape[1]);
  }
};

class CsrMatmulDw final : public Operator {
 public:
  std::string_view name() const override { return "csr_matmul_dw"; }
  std::vector<std::string_view> attribute_names() const override { return {"features", "part"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "values", "columns", "offsets"});
    const std::int64_t width = expect_dy(operands);
    expect_part(node);
    return {make_type(in[0].dtype, {required_integer(node, "features", 1), width})};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {{{sharded(0), kLocal, kLocal, kLocal}, {kPartialSum}},
            {{sharded(1), kReplicated, kReplicated, kReplicated}, {sharded(1)}},
            {{kReplicated, kReplicated, kReplicated, kReplicated}, {sharded(0)}}};
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.outputs[0] != sharded(0)) return;
    divide_attribute(node, "features", share.count);
    choose_part(node, share);
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return entry_flops(in[1].shape, in[0].shape[1]);
  }
};

class CsrMatmulDwRows final : public Operator {
 public:
  std::string_view name() const override { return "csr_matmul_dw_rows"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "values", "columns", "offsets"});
    const std::int64_t width = expect_dy(operands);
    const std::int64_t capacity = in[1].shape[0];
    return {make_type(in[0].dtype, {capacity, width}), {DType::i32, {capacity}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type>) const override {
    return {{{sharded(1), kReplicated, kReplicated, kReplicated}, {sharded(1), kReplicated}}};
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return entry_flops(in[1].shape, in[0].shape[1]);
  }
};

// w and its state ← sgd or adagrad for the gradient csr_matmul_dw(dy, values, columns, offsets) of w, in one
// pass over the entries: what no entry names stays as it is. On one rank.
class CsrUpdate final : public Operator {
 public:
  CsrUpdate(std::string_view name, std::vector<std::string_view> slots)
      : name_(name), slots_(std::move(slots)) {}
  std::string_view name() const override { return name_; }
  std::vector<std::string_view> attribute_names() const override {
    return slots_.empty() ? std::vector<std::string_view>{} : std::vector<std::string_view>{"eps"};
  }

  std::vector<int> updates() const override {
    return slots_.empty() ? std::vector<int>{0} : std::vector<int>{0, 6};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    std::vector<std::string_view> names{"w", "dy", "values", "columns", "offsets", "hyper"};
    names.insert(names.end(), slots_.begin(), slots_.end());
    const Operands operands(in, std::move(names));
    const std::int64_t rows = expect_csr(operands, 2);
    operands.expect_float(0);
    operands.expect_rank(0, 2);
    operands.expect_dtype_of(1, 0);
    operands.expect_shape(1, {rows, in[0].shape[1]});
    operands.expect_dtype_of(2, 0);
    operands.expect_dtype(5, DType::f64);
    operands.expect_shape(5, {4});
    if (!slots_.empty()) operands.expect_like(6, 0);
    real_between(node, "eps", 0, 0, std::numeric_limits<double>::max());
    return {};
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return 4 * entry_flops(in[2].shape, in[0].shape[1]);
  }

 private:
  std::string_view name_;
  std::vector<std::string_view> slots_;
};

}  // namespace

OperatorList sparse_operators() {
  static const CsrUpdate kSgdCsr("sgd_csr", {});
  static const CsrUpdate kAdaGradCsr("adagrad_csr", {"a"});
  static const CsrMatmul kCsrMatmul;
  static const CsrMatmulDw kCsrMatmulDw;
  static const CsrMatmulDwRows kCsrMatmulDwRows;
  return {&kCsrMatmul, &kCsrMatmulDw, &kCsrMatmulDwRows, &kSgdCsr, &kAdaGradCsr};
}

}  // namespace hocket
