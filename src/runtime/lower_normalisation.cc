#include "runtime/lowering.h"
#include "tensor/kernels/normalisation.h"
#include "tensor/reference/normalisation.h"

namespace hocket {
namespace {

// `x` is the operand that has the shape of the batch: (N, C) or (N, C, H, W).
template <int x>
BatchNormSpec batch_norm_spec(const NodeView& node) {
  const Shape& shape = node.in_shape(x);
  BatchNormSpec spec;
  spec.n = shape[0];
  spec.c = shape[1];
  spec.spatial = shape.count(2, shape.rank());
  spec.eps = node.real("eps", spec.eps);
  spec.activation = node.activation();
  spec.dtype = node.in_dtype(x);
  spec.layout = node.in(x).layout;
  return spec;
}

// `beta`, the index of an optional operand, tells that a relu is folded in.
template <int beta>
BatchNormSpec gradient_spec(const NodeView& node) {
  BatchNormSpec spec = batch_norm_spec<0>(node);
  spec.activation = node.in_count() > beta ? Activation::relu : Activation::none;
  return spec;
}

template <int residual>
BatchNormSpec forward_spec(const NodeView& node) {
  BatchNormSpec spec = batch_norm_spec<0>(node);
  spec.has_residual = node.in_count() > residual;
  return spec;
}

BatchNormSpec running_spec(const NodeView& node) {
  BatchNormSpec spec;
  spec.c = node.in_shape(1).count();
  spec.momentum = node.real("momentum", spec.momentum);
  spec.dtype = node.in_dtype(1);
  return spec;
}

template <int x>
RowsSpec layer_norm_spec(const NodeView& node) {
  RowsSpec spec;
  spec.width = node.in_shape(x).back();
  spec.rows = node.in_shape(x).count() / spec.width;
  spec.eps = node.real("eps", spec.eps);
  spec.dtype = node.in_dtype(x);
  return spec;
}

}  // namespace

std::vector<Lowering> normalisation_lowerings() {
  return {
      {"bn_stats", choose<kernel::make_bn_stats, reference::make_bn_stats, batch_norm_spec<0>>},
      {"bn_apply", choose<kernel::make_bn_apply, reference::make_bn_apply, forward_spec<4>>},
      {"bn_apply_grad", choose<kernel::make_bn_apply_grad, reference::make_bn_apply_grad, gradient_spec<4>>},
      {"bn_apply_dx", choose<kernel::make_bn_apply_dx, reference::make_bn_apply_dx, batch_norm_spec<0>>},
      {"bn_stats_dx", choose<kernel::make_bn_stats_dx, reference::make_bn_stats_dx, batch_norm_spec<1>>},
      {"bn_dx", choose<kernel::make_bn_dx, reference::make_bn_dx, gradient_spec<6>>},
      {"bn_running", choose<kernel::make_bn_running, reference::make_bn_running, running_spec>},
      {"bn_inference", choose<kernel::make_bn_inference, reference::make_bn_inference, forward_spec<5>>},
      {"layer_norm", choose<kernel::make_layer_norm, reference::make_layer_norm, layer_norm_spec<0>>},
      {"layer_norm_grad",
       choose<kernel::make_layer_norm_grad, reference::make_layer_norm_grad, layer_norm_spec<1>>},
  };
}

}  // namespace hocket
