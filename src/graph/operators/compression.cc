// Gradients in fewer bytes: what a rank sends, and the sum of what all ranks have sent. Made by the pass that
// compresses gradients.
#include "graph/compression.h"

#include "base/error.h"
#include "graph/mesh.h"
#include "graph/operators/lists.h"
#include "graph/operators/operands.h"

namespace hocket {
namespace {

constexpr std::int64_t kMostElements = (std::int64_t{1} << 31) - 1;  // topk sends i32 indices.

CompressionKind kind_of(const Node& node) {
  const std::string name = node.attributes.text("kind", "");
  const std::optional<CompressionKind> kind = find_compression(name);
  if (!kind) throw ConfigError("attribute kind={} must be bf16, int8 or topk", name);
  return *kind;
}

void expect_size(std::int64_t size) {
  if (size < 1 || size > kMostElements)
    throw ConfigError("a vector of {} elements cannot be compressed; the most are {}", size, kMostElements);
}

// e = x + residual; payload = e in fewer bytes; residual ← e − what the payload says
class Encode final : public Operator {
 public:
  std::string_view name() const override { return "encode"; }
  std::vector<std::string_view> attribute_names() const override { return {"kind", "fraction"}; }
  std::vector<int> updates() const override { return {1}; }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"x", "residual"});
    operands.expect_float(0);
    operands.expect_rank(0, 1);
    operands.expect_like(1, 0);
    expect_size(in[0].shape[0]);
    const double fraction = real_between(node, "fraction", 1, 0, 1);
    if (fraction <= 0) throw ConfigError("attribute fraction={} must be more than 0", fraction);
    return {payload_type(Compression{kind_of(node), fraction}.spec(in[0].shape[0], in[0].dtype))};
  }
};

// y = the sum of what the payloads of `ranks` ranks say, in the order of ranks
class Decode final : public Operator {
 public:
  std::string_view name() const override { return "decode"; }
  std::vector<std::string_view> attribute_names() const override {
    return {"kind", "size", "dtype", "ranks"};
  }

  std::vector<Type> infer(const Node& node, std::span<const Type> in) const override {
    const Operands operands(in, {"payloads"});
    operands.expect_rank(0, 1);
    const std::int64_t size = required_integer(node, "size", 1), ranks = integer_from(node, "ranks", 1, 1);
    expect_size(size);
    if (ranks > kMostRanks) throw ConfigError("attribute ranks={} is more than {}", ranks, kMostRanks);
    const std::string name = node.attributes.text("dtype", "f32");
    if (name != "f32" && name != "f64") throw ConfigError("attribute dtype={} must be f32 or f64", name);
    CompressionSpec spec{.kind = kind_of(node), .count = size};
    if (spec.kind == CompressionKind::topk) {
      operands.expect_dtype(0, DType::u8);
      spec.kept = in[0].shape[0] / 8 / ranks;
      if (spec.kept < 1 || spec.kept > size) {
        throw ConfigError("payloads has {} bytes, which are no pairs of {} ranks for a vector of {}",
                          in[0].shape[0], ranks, size);
      }
    }
    const Type payload = payload_type(spec);
    operands.expect_dtype(0, payload.dtype);
    operands.expect_shape(0, {payload.shape[0] * ranks});
    return {make_type(*find_dtype(name), {size})};
  }
};

}  // namespace

OperatorList compression_operators() {
  static const Encode kEncode;
  static const Decode kDecode;
  return {&kEncode, &kDecode};
}

}  // namespace hocket
