#pragma once

#include <cstdint>
#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Pooling of images. See matrix.h.
namespace hocket::kernel {

// Images [first, first + count) of a max_pool and of its gradient, channels last, in this thread: for kernels
// that make x, or read dx, an image at a time. Those lie at `x` and `dx`; the other operands are whole
// tensors.
void max_pool_images(const PoolSpec& spec, std::int64_t first, std::int64_t count, const float* x, float* y,
                     std::uint8_t* index);
void max_pool_dx_images(const PoolSpec& spec, std::int64_t first, std::int64_t count, const float* dy,
                        const std::uint8_t* index, float* dx);

std::unique_ptr<Kernel> make_max_pool(const PoolSpec& spec);
std::unique_ptr<Kernel> make_max_pool_dx(const PoolSpec& spec);
std::unique_ptr<Kernel> make_avg_pool(const PoolSpec& spec);
std::unique_ptr<Kernel> make_avg_pool_dx(const PoolSpec& spec);
std::unique_ptr<Kernel> make_global_avg_pool(const PoolSpec& spec);
std::unique_ptr<Kernel> make_global_avg_pool_dx(const PoolSpec& spec);

}  // namespace hocket::kernel
