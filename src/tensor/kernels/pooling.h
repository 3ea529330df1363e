#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Pooling of images. See matrix.h.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_max_pool(const PoolSpec& spec);
std::unique_ptr<Kernel> make_max_pool_dx(const PoolSpec& spec);
std::unique_ptr<Kernel> make_avg_pool(const PoolSpec& spec);
std::unique_ptr<Kernel> make_avg_pool_dx(const PoolSpec& spec);
std::unique_ptr<Kernel> make_global_avg_pool(const PoolSpec& spec);
std::unique_ptr<Kernel> make_global_avg_pool_dx(const PoolSpec& spec);

}  // namespace hocket::kernel
