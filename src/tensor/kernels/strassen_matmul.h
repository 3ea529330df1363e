#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"
#include "tensor/kernels/isa.h"

namespace hocket::kernel {

// y = act(op(a)·op(b) + bias) in f32 with 49 of every 64 multiplications (Strassen). It rounds about four
// times as much as the plain sum, relative to the largest elements: a small one beside large ones has fewer
// right digits. A row depends on those of its group of 64 alone. nullptr for other products, and where it
// would not pay. Operands come as (a, b, bias), or as (b, a) where `swap` says so. Layers, a·bᵀ with the
// weight b, and gradients of weights, aᵀ·b, run in parts where their panels can be kept for all of them.
// `in_pairs` takes terms in pairs, where vectors are of 512 bits (strassen_pairs-inl.h).
std::unique_ptr<Kernel> make_strassen_matmul(const MatmulSpec& spec, bool swap,
                                             bool in_pairs = adds_beside_products());

}  // namespace hocket::kernel
