#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Tables of which a batch touches few rows: sparse features and embeddings. See matrix.h.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_csr_matmul(const CsrSpec& spec);
std::unique_ptr<Kernel> make_csr_matmul_dw(const CsrSpec& spec);
std::unique_ptr<Kernel> make_csr_matmul_dw_rows(const CsrSpec& spec);

std::unique_ptr<Kernel> make_embedding(const EmbeddingSpec& spec);
std::unique_ptr<Kernel> make_embedding_grad(const EmbeddingSpec& spec);
std::unique_ptr<Kernel> make_embedding_grad_rows(const EmbeddingSpec& spec);

}  // namespace hocket::kernel
