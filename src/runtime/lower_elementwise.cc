#include <algorithm>

#include "runtime/lowering.h"
#include "runtime/stored.h"
#include "tensor/arena.h"
#include "tensor/kernels/elementwise.h"
#include "tensor/kernels/shape.h"
#include "tensor/reference/elementwise.h"
#include "tensor/reference/shape.h"

namespace hocket {
namespace {

template <Binary op>
BinarySpec binary_spec(const NodeView& node) {
  const Layout layout = node.out(0).layout;
  return {op, stored_for_broadcast(node.in(0), layout), stored_for_broadcast(node.in(1), layout),
          stored_shape(node.out(0)), node.out_dtype(0)};
}

// Transposes operand `operand`, an image in plain order, to channels_last in the scratch memory; then runs
// `inner`.
class Reordered final : public Kernel {
 public:
  Reordered(int operand, const ValueInfo& value, std::unique_ptr<Kernel> transpose,
            std::unique_ptr<Kernel> inner)
      : operand_(static_cast<std::size_t>(operand)),
        bytes_(align_up(bytes_of(value.type))),
        transpose_(std::move(transpose)),
        inner_(std::move(inner)) {}

  void run(Buffers in, Buffers out, std::byte* scratch) const override {
    std::byte* operands[] = {in[0], in[1]};
    std::byte* const target[] = {scratch};
    transpose_->run(in.subspan(operand_, 1), target, scratch + bytes_);
    operands[operand_] = scratch;
    inner_->run(operands, out, scratch + bytes_);
  }

  std::size_t scratch_bytes() const override {
    return bytes_ + std::max(transpose_->scratch_bytes(), inner_->scratch_bytes());
  }

 private:
  std::size_t operand_;
  std::size_t bytes_;
  std::unique_ptr<Kernel> transpose_;
  std::unique_ptr<Kernel> inner_;
};

template <int operand>
TransposeSpec reorder_spec(const NodeView& node) {
  const Shape stored = stored_for_broadcast(node.in(operand), node.out(0).layout);
  return {{stored[0], stored[3], stored[1], stored[2]}, {0, 2, 3, 1}, node.in_dtype(operand)};
}

template <Binary op>
std::unique_ptr<Kernel> lower_binary(const NodeView& node) {
  const Layout layout = node.out(0).layout;
  std::unique_ptr<Kernel> kernel = choose<kernel::make_binary, reference::make_binary, binary_spec<op>>(node);
  if (must_reorder(node.in(0), layout)) {
    auto transpose = choose<kernel::make_transpose, reference::make_transpose, reorder_spec<0>>(node);
    return std::make_unique<Reordered>(0, node.in(0), std::move(transpose), std::move(kernel));
  }
  if (must_reorder(node.in(1), layout)) {
    auto transpose = choose<kernel::make_transpose, reference::make_transpose, reorder_spec<1>>(node);
    return std::make_unique<Reordered>(1, node.in(1), std::move(transpose), std::move(kernel));
  }
  return kernel;
}

template <Unary op>
UnarySpec unary_spec(const NodeView& node) {
  return {op, node.out_shape(0).count(), node.out_dtype(0)};
}

template <Unary op>
UnaryGradSpec unary_grad_spec(const NodeView& node) {
  return {op, node.out_shape(0).count(), node.in_count() > 2, node.out_dtype(0)};
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
  spec.run = shape.count(static_cast<int>(node.integer("dim")), shape.rank());
  spec.part = node.integer("part");
  spec.parts = node.integer("parts", 1);
  spec.dtype = node.out_dtype(0);
  return spec;
}

CastSpec cast_spec(const NodeView& node) {
  return {node.out_shape(0).count(), node.in_dtype(0), node.out_dtype(0)};
}

template <Unary op>
constexpr auto kUnary = choose<kernel::make_unary, reference::make_unary, unary_spec<op>>;
template <Unary op>
constexpr auto kUnaryGrad = choose<kernel::make_unary_grad, reference::make_unary_grad, unary_grad_spec<op>>;

}  // namespace

std::vector<Lowering> elementwise_lowerings() {
  return {
      {"add", lower_binary<Binary::add>},
      {"sub", lower_binary<Binary::sub>},
      {"mul", lower_binary<Binary::mul>},
      {"div", lower_binary<Binary::div>},
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
