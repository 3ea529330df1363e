// What the placement compiler inserts: collectives of the ranks along one mesh axis. `ranks` is how many they
// are. Blocks are cut along the first dimension, one a rank, in the order of ranks. And what stands where a
// pipeline is cut: `peer` is the other rank's place along pp; messages of one `channel` between two ranks
// arrive in the order in which they were sent.
#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"

namespace hocket {
namespace {

std::int64_t ranks_of(const Node& node) {
  if (node.attributes.text("axis", "").empty()) throw ConfigError("attribute axis is missing");
  return required_integer(node, "ranks", 1);
}

void expect_blocks(const Operands& operands, std::int64_t ranks) {
  operands.expect_rank_from(0, 1);
  if (operands.shape(0)[0] % ranks == 0) return;
  throw ConfigError("the first dimension of x, {}, cannot be cut among {} ranks", operands.shape(0)[0],
                    ranks);
}

class Communication : public Operator {
 public:
  explicit Communication(std::string_view name) : name_(name) {}
  std::string_view name() const final { return name_; }
  std::vector<std::string_view> attribute_names() const override { return {"axis", "ranks"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const final { return 0; }

 private:
  std::string_view name_;
};

// yᵢ = xᵢ, summed (or the largest) over the ranks
class AllReduce final : public Communication {
 public:
  AllReduce() : Communication("all_reduce") {}
  std::vector<std::string_view> attribute_names() const override { return {"axis", "ranks", "reduction"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    ranks_of(node);
    const std::string reduction = node.attributes.text("reduction", "sum");
    if (reduction != "sum" && reduction != "max") {
      throw ConfigError("attribute reduction={} must be sum or max", reduction);
    }
    if (in.empty()) throw ConfigError("0 operands given, expected at least 1");
    return {in.begin(), in.end()};
  }
};

// y = the ranks' x, one behind the other
class AllGather final : public Communication {
 public:
  AllGather() : Communication("all_gather") {}

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_rank_from(0, 1);
    Shape y = in[0].shape;
    y[0] *= ranks_of(node);
    return {make_type(in[0].dtype, y)};
  }
};

// y = this rank's block of the sum of the ranks' x; with `index`, its number, x may be used up
class ReduceScatter final : public Communication {
 public:
  ReduceScatter() : Communication("reduce_scatter") {}
  std::vector<std::string_view> attribute_names() const override { return {"axis", "ranks", "index"}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    expect_blocks(operands, ranks_of(node));
    Shape y = in[0].shape;
    y[0] /= ranks_of(node);
    return {make_type(in[0].dtype, y)};
  }
};

// Block i of y = this rank's block of rank i's x
class AllToAll final : public Communication {
 public:
  AllToAll() : Communication("all_to_all") {}

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    expect_blocks(operands, ranks_of(node));
    return {in[0]};
  }
};

// Block i of x ← rank i's block i of x
class GatherBlocks final : public Communication {
 public:
  GatherBlocks() : Communication("gather_blocks") {}
  std::vector<int> updates() const override { return {0}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    expect_blocks(operands, ranks_of(node));
    return {};
  }
};

// x goes to a later stage, or its gradient to an earlier one
class Send final : public Communication {
 public:
  Send() : Communication("send") {}
  std::vector<std::string_view> attribute_names() const override { return {"peer", "channel"}; }
  bool has_effect() const override { return true; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    required_integer(node, "peer", 0);
    required_integer(node, "channel", 0);
    return {};
  }
};

// y = what another stage has sent
class Receive final : public Communication {
 public:
  Receive() : Communication("receive") {}
  std::vector<std::string_view> attribute_names() const override {
    return {"peer", "channel", "dtype", "shape"};
  }
  bool has_effect() const override { return true; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {});
    required_integer(node, "peer", 0);
    required_integer(node, "channel", 0);
    const std::optional<DType> dtype = find_dtype(node.attributes.text("dtype", ""));
    if (!dtype) throw ConfigError("attribute dtype={} is no dtype", node.attributes.text("dtype", ""));
    return {make_type(*dtype, Shape(node.attributes.list("shape")))};
  }
};

}  // namespace

OperatorList communication_operators() {
  static const AllReduce kAllReduce;
  static const AllGather kAllGather;
  static const ReduceScatter kReduceScatter;
  static const AllToAll kAllToAll;
  static const GatherBlocks kGatherBlocks;
  static const Send kSend;
  static const Receive kReceive;
  return {&kAllReduce, &kAllGather, &kReduceScatter, &kAllToAll, &kGatherBlocks, &kSend, &kReceive};
}

}  // namespace hocket
