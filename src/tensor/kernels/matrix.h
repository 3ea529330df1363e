#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// The fast kernels: oneDNN for products and convolutions but those of strassen_matmul.h, paired_matmul.h,
// winograd_conv.h and narrow_conv.h, vectors of whatever width the processor has for the rest. They take f32
// (and bf16 operands of products); a factory gives nullptr for what it does not support, and the reference
// kernel of the same name runs instead. Operands come in the order of docs/OPERATORS.md.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_matmul(const MatmulSpec& spec);
std::unique_ptr<Kernel> make_matmul_dw(const MatmulSpec& spec);

std::unique_ptr<Kernel> make_conv2d(const ConvSpec& spec);
std::unique_ptr<Kernel> make_conv2d_dx(const ConvSpec& spec);
std::unique_ptr<Kernel> make_conv2d_dw(const ConvSpec& spec);

}  // namespace hocket::kernel
