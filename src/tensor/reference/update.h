#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// The update phase: operands are all in `in`; `out` is empty, but for those of square_sums and clip_scale.
// See matrix.h.
namespace hocket::reference {

std::unique_ptr<Kernel> make_update(const UpdateSpec& spec);
std::unique_ptr<Kernel> make_square_sums(const SquareSumsSpec& spec);
std::unique_ptr<Kernel> make_clip_scale(const ClipSpec& spec);
std::unique_ptr<Kernel> make_accumulate(const AccumulateSpec& spec);

}  // namespace hocket::reference
