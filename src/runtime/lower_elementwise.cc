#include "runtime/lowering.h"
#include "runtime/stored.h"
#include "tensor/kernels/elementwise.h"
#include "tensor/reference/elementwise.h"

namespace hocket {
namespace {

template <Binary op>
BinarySpec binary_spec(const NodeView& node) {
  const Layout layout = node.out(0).layout;
  return {op, stored_for_broadcast(node.in(0), layout), stored_for_broadcast(node.in(1), layout),
          stored_shape(node.out(0)), node.out_dtype(0)};
}

template <Unary op>
UnarySpec unary_spec(const NodeView& node) {
  return {op, node.out_shape(0).count(), node.out_dtype(0)};
}

template <Unary op>
UnaryGradSpec unary_grad_spec(const NodeView& node) {
  return {op, node.out_shape(0).count(), node.out_dtype(0)};
}

ScaleSpec scale_spec(const NodeView& node) {
  return {node.out_shape(0).count(), node.real("factor", 1), node.real("offset", 0), node.out_dtype(0)};
}

DropoutSpec dropout_spec(const NodeView& node) {
  const Shape& shape = node.in_shape(0);
  DropoutSpec spec;
  spec.n = shape[0];
  spec.layout = node.in(0).layout;
  spec.c = spec.layout == Layout::channels_last ? shape[1] : 1;
  spec.spatial = shape.count() / (spec.n * spec.c);
  spec.rate = node.real("rate", 0.5);
  spec.stream = node.integer("stream");
  spec.dtype = node.out_dtype(0);
  return spec;
}

CastSpec cast_spec(const NodeView& node) {
  return {node.out_shape(0).count(), node.in_dtype(0), node.out_dtype(0)};
}

template <Binary op>
constexpr auto kBinary = choose<kernel::make_binary, reference::make_binary, binary_spec<op>>;
template <Unary op>
constexpr auto kUnary = choose<kernel::make_unary, reference::make_unary, unary_spec<op>>;
template <Unary op>
constexpr auto kUnaryGrad = choose<kernel::make_unary_grad, reference::make_unary_grad, unary_grad_spec<op>>;

}  // namespace

std::vector<Lowering> elementwise_lowerings() {
  return {
      {"add", kBinary<Binary::add>},
      {"sub", kBinary<Binary::sub>},
      {"mul", kBinary<Binary::mul>},
      {"div", kBinary<Binary::div>},
      {"relu", kUnary<Unary::relu>},
      {"tanh", kUnary<Unary::tanh>},
      {"sigmoid", kUnary<Unary::sigmoid>},
      {"gelu", kUnary<Unary::gelu>},
      {"exp", kUnary<Unary::exp>},
      {"relu_grad", kUnaryGrad<Unary::relu>},
      {"tanh_grad", kUnaryGrad<Unary::tanh>},
      {"sigmoid_grad", kUnaryGrad<Unary::sigmoid>},
      {"gelu_grad", kUnaryGrad<Unary::gelu>},
      {"scale", choose<kernel::make_scale, reference::make_scale, scale_spec>},
      {"dropout", choose<kernel::make_dropout, reference::make_dropout, dropout_spec>},
      {"cast", choose<kernel::make_cast, reference::make_cast, cast_spec>},
  };
}

}  // namespace hocket
