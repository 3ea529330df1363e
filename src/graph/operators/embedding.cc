#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"
#include "graph/operators/rules.h"

namespace hocket {
namespace {

// `ids` with one more dimension of `width` behind.
Shape rows_of(const Shape& ids, std::int64_t width) {
  IntList dims(ids.begin(), ids.end());
  dims.push_back(width);
  return Shape(dims);
}

// The width of dy (…, d), whose leading dimensions must be those of ids.
std::int64_t expect_rows(const Operands& operands) {
  operands.expect_float(0);
  operands.expect_rank_from(0, 1);
  operands.expect_dtype(1, DType::i32);
  const std::int64_t width = operands.shape(0).back();
  operands.expect_shape(0, rows_of(operands.shape(1), width));
  return width;
}

// y[…] = table[ids[…]]        dtable = Σ dy over equal ids
class Embedding final : public Operator {
 public:
  std::string_view name() const override { return "embedding"; }
  std::vector<std::string_view> attribute_names() const override { return {"part"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"table", "ids"});
    operands.expect_float(0);
    operands.expect_rank(0, 2);
    operands.expect_dtype(1, DType::i32);
    expect_part(node);
    return {make_type(in[0].dtype, rows_of(in[1].shape, in[0].shape[1]))};
  }

  std::vector<Gradient> gradient(Graph& graph, const Node& node, std::span<const Value> dy) const override {
    const Backward back(graph, node);
    if (back.in(0).info().attributes.integer("sparse", 0) != 0) {
      const std::vector<Value> grad = back.apply(0, "embedding_grad_rows", {dy[0], back.in(1)});
      return {{grad[0], grad[1]}, {}};
    }
    return {{back.add(0, "embedding_grad", {dy[0], back.in(1)}, {{"rows", back.in(0).dim(0)}}), {}}, {}};
  }

  // Of a table cut by its vocabulary each rank gives its own rows and zeros for the others.
  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    const int rank = in[1].shape.rank();
    PlacementRules rules{{{sharded(0), kReplicated}, {kPartialSum}},
                         {{sharded(1), kReplicated}, {sharded(rank)}}};
    for (int dim = 0; dim < rank; ++dim) rules.push_back({{kReplicated, sharded(dim)}, {sharded(dim)}});
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.inputs[0] == sharded(0)) choose_part(node, share);
  }

  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }
};

class EmbeddingGrad final : public Operator {
 public:
  std::string_view name() const override { return "embedding_grad"; }
  std::vector<std::string_view> attribute_names() const override { return {"rows", "part"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "ids"});
    const std::int64_t width = expect_rows(operands);
    expect_part(node);
    return {make_type(in[0].dtype, {required_integer(node, "rows", 1), width})};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    const int rank = in[1].shape.rank();
    PlacementRules rules{{{kReplicated, kReplicated}, {sharded(0)}},
                         {{sharded(rank), kReplicated}, {sharded(1)}},
                         {{kPartialSum, kReplicated}, {kPartialSum}}};
    for (int dim = 0; dim < rank; ++dim) rules.push_back({{sharded(dim), sharded(dim)}, {kPartialSum}});
    return rules;
  }

  void localize(Node& node, const PlacementRule& rule, AxisShare share) const override {
    if (rule.outputs[0] != sharded(0)) return;
    divide_attribute(node, "rows", share.count);
    choose_part(node, share);
  }

  double flops(const Node&, std::span<const Type> in, std::span<const Type>) const override {
    return static_cast<double>(in[0].shape.count());
  }
};

class EmbeddingGradRows final : public Operator {
 public:
  std::string_view name() const override { return "embedding_grad_rows"; }

  std::vector<Type> infer(const Node&, std::span<const Type> in) const override {
    const Operands operands(in, {"dy", "ids"});
    const std::int64_t width = expect_rows(operands);
    const std::int64_t count = in[1].shape.count();
    return {make_type(in[0].dtype, {count, width}), {DType::i32, {count}}};
  }

  std::vector<PlacementRule> placements(const Node&, std::span<const Type> in) const override {
    return {{{sharded(in[1].shape.rank()), kReplicated}, {sharded(1), kReplicated}},
            {{kPartialSum, kReplicated}, {kPartialSum, kReplicated}}};
  }
};

}  // namespace

OperatorList embedding_operators() {
  static const Embedding kEmbedding;
  static const EmbeddingGrad kEmbeddingGrad;
  static const EmbeddingGradRows kEmbeddingGradRows;
  return {&kEmbedding, &kEmbeddingGrad, &kEmbeddingGradRows};
}

}  // namespace hocket
