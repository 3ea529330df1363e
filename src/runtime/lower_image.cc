#include "runtime/lowering.h"
#include "tensor/kernels/matrix.h"
#include "tensor/kernels/pooling.h"
#include "tensor/reference/matrix.h"
#include "tensor/reference/pooling.h"

namespace hocket {
namespace {

// Sets what input, weight and output say; each of the three may be any operand of the node.
ConvSpec conv_spec(const NodeView& node, const ValueInfo& x, const Shape& weight, const ValueInfo& result) {
  const Shape& image = x.type.shape;
  ConvSpec spec;
  spec.n = image[0];
  spec.c = image[1];
  spec.h = image[2];
  spec.w = image[3];
  spec.o = weight[0];
  spec.kh = weight[2];
  spec.kw = weight[3];
  spec.stride = node.integer("stride", 1);
  spec.padding = node.integer("padding", 0);
  spec.groups = node.integer("groups", 1);
  spec.pool = node.integer("pool", 1);
  spec.activation = node.activation();
  spec.layout = x.layout;
  spec.dtype = result.type.dtype;
  spec.input_dtype = node.in_dtype(0);
  return spec;
}

ConvSpec forward_spec(const NodeView& node) {
  ConvSpec spec = conv_spec(node, node.in(0), node.in_shape(1), node.out(0));
  spec.has_bias = node.in_count() > 2;
  return spec;
}

ConvSpec dx_spec(const NodeView& node) { return conv_spec(node, node.out(0), node.in_shape(1), node.out(0)); }
ConvSpec dw_spec(const NodeView& node) {
  ConvSpec spec = conv_spec(node, node.in(1), node.out_shape(0), node.out(0));
  spec.has_bias = node.integer("bias", 1) != 0;
  return spec;
}

PoolSpec pool_spec(const NodeView& node, const ValueInfo& x) {
  const Shape& image = x.type.shape;
  PoolSpec spec;
  spec.n = image[0];
  spec.c = image[1];
  spec.h = image[2];
  spec.w = image[3];
  spec.kernel = node.integer("kernel", spec.kernel);
  spec.stride = node.integer("stride", spec.kernel);
  spec.padding = node.integer("padding", 0);
  spec.dtype = x.type.dtype;
  spec.layout = x.layout;
  return spec;
}

PoolSpec pool_forward_spec(const NodeView& node) { return pool_spec(node, node.in(0)); }
PoolSpec pool_dx_spec(const NodeView& node) { return pool_spec(node, node.out(0)); }

}  // namespace

std::vector<Lowering> image_lowerings() {
  return {
      {"conv2d", choose<kernel::make_conv2d, reference::make_conv2d, forward_spec>},
      {"conv2d_dx", choose<kernel::make_conv2d_dx, reference::make_conv2d_dx, dx_spec>},
      {"conv2d_dw", choose<kernel::make_conv2d_dw, reference::make_conv2d_dw, dw_spec>},
      {"max_pool", choose<kernel::make_max_pool, reference::make_max_pool, pool_forward_spec>},
      {"max_pool_dx", choose<kernel::make_max_pool_dx, reference::make_max_pool_dx, pool_dx_spec>},
      {"avg_pool", choose<kernel::make_avg_pool, reference::make_avg_pool, pool_forward_spec>},
      {"avg_pool_dx", choose<kernel::make_avg_pool_dx, reference::make_avg_pool_dx, pool_dx_spec>},
      {"global_avg_pool",
       choose<kernel::make_global_avg_pool, reference::make_global_avg_pool, pool_forward_spec>},
      {"global_avg_pool_dx",
       choose<kernel::make_global_avg_pool_dx, reference::make_global_avg_pool_dx, pool_dx_spec>},
  };
}

}  // namespace hocket
