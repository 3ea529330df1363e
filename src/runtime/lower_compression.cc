#include "graph/compression.h"
#include "runtime/lowering.h"
#include "tensor/kernels/compression.h"
#include "tensor/reference/compression.h"

namespace hocket {
namespace {

CompressionKind kind_of(const NodeView& node) {
  return *find_compression(node.attributes().text("kind", ""));
}

CompressionSpec encode_spec(const NodeView& node) {
  return Compression{kind_of(node), node.real("fraction", 1)}.spec(node.in_shape(0)[0], node.in_dtype(0));
}

CompressionSpec decode_spec(const NodeView& node) {
  CompressionSpec spec{.kind = kind_of(node), .count = node.out_shape(0)[0], .dtype = node.out_dtype(0)};
  spec.ranks = node.integer("ranks", 1);
  if (spec.kind == CompressionKind::topk) spec.kept = node.in_shape(0)[0] / 8 / spec.ranks;
  return spec;
}

}  // namespace

std::vector<Lowering> compression_lowerings() {
  return {{"encode", choose<kernel::make_encode, reference::make_encode, encode_spec>},
          {"decode", choose<kernel::make_decode, reference::make_decode, decode_spec>}};
}

}  // namespace hocket
