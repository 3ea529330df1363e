#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Moving and summing elements by their position. The movers take any dtype, the sums f32. See
// matrix.h.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_transpose(const TransposeSpec& spec);
std::unique_ptr<Kernel> make_slice(const StridedSpec& spec);
std::unique_ptr<Kernel> make_unslice(const StridedSpec& spec);
std::unique_ptr<Kernel> make_concat(const ConcatSpec& spec);
std::unique_ptr<Kernel> make_broadcast_to(const BroadcastSpec& spec);

std::unique_ptr<Kernel> make_reduce(const ReduceSpec& spec);
std::unique_ptr<Kernel> make_reduce_max_grad(const ReduceSpec& spec);

}  // namespace hocket::kernel
