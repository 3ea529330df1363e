#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

namespace hocket::kernel {

// y = act(a·bᵀ + bias) in f32, with one operand transposed beforehand. Null where that does not pay: where b
// is not transposed, a is, there are several products, or one is small. The operands are those of
// make_matmul.
std::unique_ptr<Kernel> make_transposed_matmul(const MatmulSpec& spec);

}  // namespace hocket::kernel
