#include <limits>

#include "runtime/lowering.h"
#include "tensor/kernels/csr_update.h"
#include "tensor/kernels/sparse.h"
#include "tensor/reference/csr_update.h"
#include "tensor/reference/sparse.h"

namespace hocket {
namespace {

// `dense` is (n, k): the result or its gradient; `first` is the operand from which (values, columns, offsets)
// stand.
CsrSpec csr_spec(const NodeView& node, int first, const ValueInfo& dense, std::int64_t features) {
  CsrSpec spec;
  spec.capacity = node.in_shape(first).count();
  spec.n = node.in_shape(first + 2).count() - 1;
  spec.features = features;
  spec.k = dense.type.shape.count() / spec.n;
  spec.dtype = dense.type.dtype;
  spec.first = node.integer("part") * features;
  return spec;
}

CsrSpec csr_forward_spec(const NodeView& node) { return csr_spec(node, 0, node.out(0), node.in_shape(3)[0]); }
CsrSpec csr_dw_spec(const NodeView& node) { return csr_spec(node, 1, node.in(0), node.out_shape(0)[0]); }
CsrSpec csr_rows_spec(const NodeView& node) { return csr_spec(node, 1, node.in(0), 0); }

template <UpdateRule rule>
CsrUpdateSpec csr_update_spec(const NodeView& node) {
  CsrUpdateSpec spec;
  spec.csr = csr_spec(node, 2, node.in(1), node.in_shape(0)[0]);
  spec.update.rule = rule;
  spec.update.eps = node.real("eps", 1e-10);
  spec.update.dtype = spec.csr.dtype;
  return spec;
}

template <UpdateRule rule>
constexpr auto kCsrUpdate =
    choose<kernel::make_csr_update, reference::make_csr_update, csr_update_spec<rule>>;

// `ids` is operand 1 in all of them; `dense` is the value with one row of the table per id.
EmbeddingSpec embedding_spec(const NodeView& node, const ValueInfo& dense, std::int64_t vocabulary) {
  return {vocabulary, dense.type.shape.back(), node.in_shape(1).count(), dense.type.dtype,
          node.integer("part") * vocabulary};
}

EmbeddingSpec lookup_spec(const NodeView& node) {
  return embedding_spec(node, node.out(0), node.in_shape(0)[0]);
}
EmbeddingSpec grad_spec(const NodeView& node) {
  return embedding_spec(node, node.in(0), node.out_shape(0)[0]);
}
EmbeddingSpec row_gradient_spec(const NodeView& node) {
  return embedding_spec(node, node.in(0), node.integer("rows", std::numeric_limits<std::int32_t>::max()));
}

}  // namespace

std::vector<Lowering> sparse_lowerings() {
  return {
      {"csr_matmul", choose<kernel::make_csr_matmul, reference::make_csr_matmul, csr_forward_spec>},
      {"csr_matmul_dw", choose<kernel::make_csr_matmul_dw, reference::make_csr_matmul_dw, csr_dw_spec>},
      {"csr_matmul_dw_rows",
       choose<kernel::make_csr_matmul_dw_rows, reference::make_csr_matmul_dw_rows, csr_rows_spec>},
      {"sgd_csr", kCsrUpdate<UpdateRule::sgd>},
      {"adagrad_csr", kCsrUpdate<UpdateRule::adagrad>},
      {"embedding", choose<kernel::make_embedding, reference::make_embedding, lookup_spec>},
      {"embedding_grad", choose<kernel::make_embedding_grad, reference::make_embedding_grad, grad_spec>},
      {"embedding_grad_rows",
       choose<kernel::make_embedding_grad_rows, reference::make_embedding_grad_rows, row_gradient_spec>},
  };
}

}  // namespace hocket
