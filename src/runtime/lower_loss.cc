#include "runtime/lowering.h"
#include "tensor/kernels/loss.h"
#include "tensor/reference/loss.h"

namespace hocket {
namespace {

RowsSpec rows_spec(const NodeView& node) {
  RowsSpec spec;
  spec.width = node.in_shape(0).back();
  spec.rows = node.in_shape(0).count() / spec.width;
  spec.dtype = node.in_dtype(0);
  return spec;
}

// The predictions are operand `x` and the sample weights operand `x` + 2: (x, label, weight), after dloss in
// a gradient.
template <int x>
LossSpec class_spec(const NodeView& node) {
  const Shape& shape = node.in_shape(x);
  LossSpec spec;
  spec.width = shape.rank() > 1 ? shape.back() : 1;
  spec.rows = shape.count() / spec.width;
  spec.samples = node.in_shape(x + 2).count();
  spec.dtype = node.in_dtype(x);
  spec.label_dtype = node.in_dtype(x + 1);
  spec.part = node.integer("part");
  spec.parts = node.integer("parts", 1);
  return spec;
}

LossSpec pick_spec(const NodeView& node) {
  LossSpec spec;
  spec.rows = node.in_shape(0)[0];
  spec.width = node.in_shape(0)[1];
  spec.part = node.integer("part");
  spec.dtype = node.in_dtype(0);
  return spec;
}

LossSpec split_spec(const NodeView& node) {
  LossSpec spec;
  spec.rows = node.in_shape(0)[0];
  spec.width = node.integer("classes");
  spec.samples = node.in_shape(4).count();
  spec.dtype = node.in_dtype(0);
  return spec;
}

// A loss of single predictions: one row a sample.
template <int x>
LossSpec value_spec(const NodeView& node) {
  LossSpec spec = class_spec<x>(node);
  spec.rows = spec.samples;
  spec.width = node.in_shape(x).count() / spec.rows;
  return spec;
}

}  // namespace

std::vector<Lowering> loss_lowerings() {
  return {
      {"softmax", choose<kernel::make_softmax, reference::make_softmax, rows_spec>},
      {"softmax_grad", choose<kernel::make_softmax_grad, reference::make_softmax_grad, rows_spec>},
      {"log_softmax", choose<kernel::make_log_softmax, reference::make_log_softmax, rows_spec>},
      {"log_softmax_grad",
       choose<kernel::make_log_softmax_grad, reference::make_log_softmax_grad, rows_spec>},
      {"argmax", choose<kernel::make_argmax, reference::make_argmax, rows_spec>},
      {"softmax_cross_entropy",
       choose<kernel::make_softmax_cross_entropy, reference::make_softmax_cross_entropy, class_spec<0>>},
      {"softmax_cross_entropy_grad", choose<kernel::make_softmax_cross_entropy_grad,
                                            reference::make_softmax_cross_entropy_grad, class_spec<1>>},
      {"exp_sum", choose<kernel::make_exp_sum, reference::make_exp_sum, rows_spec>},
      {"pick", choose<kernel::make_pick, reference::make_pick, pick_spec>},
      {"split_cross_entropy",
       choose<kernel::make_split_cross_entropy, reference::make_split_cross_entropy, split_spec>},
      {"sigmoid_cross_entropy",
       choose<kernel::make_sigmoid_cross_entropy, reference::make_sigmoid_cross_entropy, value_spec<0>>},
      {"sigmoid_cross_entropy_grad", choose<kernel::make_sigmoid_cross_entropy_grad,
                                            reference::make_sigmoid_cross_entropy_grad, value_spec<1>>},
      {"hinge", choose<kernel::make_hinge, reference::make_hinge, value_spec<0>>},
      {"hinge_grad", choose<kernel::make_hinge_grad, reference::make_hinge_grad, value_spec<1>>},
      {"squared_error", choose<kernel::make_squared_error, reference::make_squared_error, value_spec<0>>},
      {"squared_error_grad",
       choose<kernel::make_squared_error_grad, reference::make_squared_error_grad, value_spec<1>>},
      {"count_correct", choose<kernel::make_count_correct, reference::make_count_correct, class_spec<0>>},
  };
}

}  // namespace hocket
