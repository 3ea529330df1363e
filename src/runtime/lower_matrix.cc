#include "runtime/lowering.h"
#include "tensor/kernels/matrix.h"
#include "tensor/reference/matrix.h"

namespace hocket {
namespace {

MatmulSpec matmul_spec(const NodeView& node) {
  const Shape& a = node.in_shape(0);
  const Shape& b = node.in_shape(1);
  MatmulSpec spec;
  spec.ta = node.integer("ta") != 0;
  spec.tb = node.integer("tb") != 0;
  spec.k = b[b.rank() - (spec.tb ? 1 : 2)];
  spec.n = b[b.rank() - (spec.tb ? 2 : 1)];
  spec.batch = b.count(0, b.rank() - 2);
  spec.m = a.count() / (spec.batch * spec.k);
  spec.has_bias = node.in_count() > 2;
  spec.activation = node.activation();
  spec.dtype = node.out_dtype(0);
  spec.input_dtype = node.in_dtype(0);
  return spec;
}

MatmulSpec matmul_dw_spec(const NodeView& node) {
  MatmulSpec spec;
  spec.k = node.in_shape(0).back();
  spec.n = node.in_shape(1).back();
  spec.m = node.in_shape(0).count() / spec.k;
  spec.tb = node.integer("tb") != 0;
  spec.dtype = node.out_dtype(0);
  spec.input_dtype = node.in_dtype(0);
  return spec;
}

}  // namespace

std::vector<Lowering> matrix_lowerings() {
  return {
      {"matmul", choose<kernel::make_matmul, reference::make_matmul, matmul_spec>},
      {"matmul_dw", choose<kernel::make_matmul_dw, reference::make_matmul_dw, matmul_dw_spec>},
  };
}

}  // namespace hocket
