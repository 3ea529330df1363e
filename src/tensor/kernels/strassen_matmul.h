#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

namespace hocket::kernel {

// y = act(op(a)·op(b) + bias) in f32 with 49 of every 64 multiplications (Strassen). It rounds about four
// times as much as the plain sum, relative to the largest elements: a small one beside large ones has fewer
// right digits. A row depends on those of its group of 64 alone. nullptr for other products, and where it
// would not pay. Operands come as (a, b, bias), or as (b, a) where `swap` says so.
std::unique_ptr<Kernel> make_strassen_matmul(const MatmulSpec& spec, bool swap);

}  // namespace hocket::kernel
