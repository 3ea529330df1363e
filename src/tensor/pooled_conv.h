#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Convolutions with a pool as two kernels, one after the other, with what lies between them in scratch
// memory. nullptr unless both are there.
namespace hocket {

// `conv` makes what `pool` reads.
std::unique_ptr<Kernel> chain_conv_and_pool(const ConvSpec& spec, std::unique_ptr<Kernel> conv,
                                            std::unique_ptr<Kernel> pool);

// `pool_dx` makes what `gradient`, a conv2d_dx or conv2d_dw, reads.
std::unique_ptr<Kernel> chain_pool_and_gradient(const ConvSpec& spec, std::unique_ptr<Kernel> pool_dx,
                                                std::unique_ptr<Kernel> gradient);

}  // namespace hocket
