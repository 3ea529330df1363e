#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// The naive kernels: the plainest loops that compute docs/OPERATORS.md, in f32 and f64, summing in f64. They
// are the oracle of the fast kernels and run what those do not support. Operands come in the order of that
// page.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_matmul(const MatmulSpec& spec);
std::unique_ptr<Kernel> make_matmul_dw(const MatmulSpec& spec);

std::unique_ptr<Kernel> make_conv2d(const ConvSpec& spec);
std::unique_ptr<Kernel> make_conv2d_dx(const ConvSpec& spec);
std::unique_ptr<Kernel> make_conv2d_dw(const ConvSpec& spec);

}  // namespace hocket::kernel
