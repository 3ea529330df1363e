#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Convolutions of images with few channels, such as the first layer of a network: there a product over the
// channels is too short for oneDNN's code to be worth its while. nullptr for other shapes.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_narrow_conv2d(const ConvSpec& spec);
std::unique_ptr<Kernel> make_narrow_conv2d_dw(const ConvSpec& spec);

}  // namespace hocket::kernel
