#pragma once

#include <memory>

#include "tensor/compression.h"
#include "tensor/kernel.h"

namespace hocket::kernel {

// Null for what the naive kernels do as well.
std::unique_ptr<Kernel> make_encode(const CompressionSpec& spec);  // in: vector, residual; out: payload.
std::unique_ptr<Kernel> make_decode(const CompressionSpec& spec);  // in: payloads; out: vector.

}  // namespace hocket::kernel
