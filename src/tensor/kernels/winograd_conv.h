#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Convolutions by 3×3 filters with a stride of one, in a quarter of the multiplications (Winograd). Their
// rounding is a few times that of the plain sum. nullptr for other shapes, and where it would not pay.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_winograd_conv2d(const ConvSpec& spec);
std::unique_ptr<Kernel> make_winograd_conv2d_dx(const ConvSpec& spec);
std::unique_ptr<Kernel> make_winograd_conv2d_dw(const ConvSpec& spec);

}  // namespace hocket::kernel
