#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

namespace hocket::kernel {

// y = act(a·op(b) + bias) in f32, with one operand transposed, or copied, beforehand. Null where that does
// not pay: where a is transposed, b is neither transposed nor has rows of whole pages, there are several
// products, or one is small. The operands are those of make_matmul. With few rows of a it runs in parts.
std::unique_ptr<Kernel> make_transposed_matmul(const MatmulSpec& spec);

}  // namespace hocket::kernel
