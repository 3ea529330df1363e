#include "runtime/lowering.h"
#include "tensor/kernels/attention.h"
#include "tensor/reference/attention.h"

namespace hocket {
namespace {

template <int qkv>
AttentionSpec attention_spec(const NodeView& node) {
  const Shape& shape = node.in_shape(qkv);
  return {shape[0],          shape[1], shape[2] / 3, node.integer("heads", 1), node.integer("causal", 1) != 0,
          node.in_dtype(qkv)};
}

}  // namespace

std::vector<Lowering> attention_lowerings() {
  return {
      {"attention", choose<kernel::make_attention, reference::make_attention, attention_spec<0>>},
      {"attention_grad",
       choose<kernel::make_attention_grad, reference::make_attention_grad, attention_spec<1>>},
  };
}

}  // namespace hocket
