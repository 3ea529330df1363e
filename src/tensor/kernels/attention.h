#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Attention over the positions of one sample. See matrix.h.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_attention(const AttentionSpec& spec);
std::unique_ptr<Kernel> make_attention_grad(const AttentionSpec& spec);

}  // namespace hocket::kernel
