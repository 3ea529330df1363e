// Several tensors as one vector, a bucket, of which every rank may own a slice. Made by the pass that shards
// parameters, gradients and optimizer state.
#include "base/error.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"

namespace hocket {
namespace {

// y = the elements of the vector x from `begin` on, in place
class View final : public Operator {
 public:
  std::string_view name() const override { return "view"; }
  std::vector<std::string_view> attribute_names() const override { return {"begin", "shape"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x"});
    operands.expect_rank(0, 1);
    const Shape y = shape_attribute(node, "shape");
    const std::int64_t begin = integer_from(node, "begin", 0, 0);
    if (begin > in[0].shape[0] || y.count() > in[0].shape[0] - begin) {
      throw ConfigError("[{}, {}) is no range of x {}", begin, begin + y.count(), to_string(in[0].shape));
    }
    return {make_type(in[0].dtype, y)};
  }
};

// y = a vector of `size` with x_i from begins_i on, and zeros between them
class Pack final : public Operator {
 public:
  std::string_view name() const override { return "pack"; }
  std::vector<std::string_view> attribute_names() const override { return {"begins", "size"}; }
  double flops(const Node&, std::span<const Type>, std::span<const Type>) const override { return 0; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, std::vector<std::string_view>(in.size(), "x"));
    const IntList begins = node.attributes.list("begins");
    const std::int64_t size = required_integer(node, "size", 1);
    if (in.empty() || begins.size() != in.size()) {
      throw ConfigError("{} operands for {} begins", in.size(), begins.size());
    }
    std::int64_t end = 0;
    for (std::size_t i = 0; i < in.size(); ++i) {
      operands.expect_dtype_of(static_cast<int>(i), 0);
      if (begins[i] < end || begins[i] > size || in[i].shape.count() > size - begins[i]) {
        throw ConfigError("operand {} does not fit from {} on in a vector of {}", i, begins[i], size);
      }
      end = begins[i] + in[i].shape.count();
    }
    return {make_type(in[0].dtype, {size})};
  }
};

}  // namespace

OperatorList flat_operators() {
  static const View kView;
  static const Pack kPack;
  return {&kView, &kPack};
}

}  // namespace hocket
