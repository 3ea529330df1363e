#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

namespace hocket::kernel {

// y = act(op(a)·op(b) + bias) in f32 with two multiplications for every three terms (paired-inl.h). It rounds
// about as the plain sum does, relative to the lengths of the row and the column: a small term beside large
// ones has fewer right digits. An element depends on its row and its column alone, however the product is
// cut. nullptr for other products, and where it would not pay. Operands come as (a, b, bias), or as (b, a)
// where `swap` says so. Layers, a·bᵀ with the weight b, of at least as many outputs as rows, and gradients of
// weights, aᵀ·b, run in parts.
std::unique_ptr<Kernel> make_paired_matmul(const MatmulSpec& spec, bool swap);

}  // namespace hocket::kernel
