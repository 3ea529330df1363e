#pragma once

#include <memory>

#include "tensor/kernel.h"
#include "tensor/kernel_specs.h"

// Element by element. See matrix.h.
namespace hocket::kernel {

std::unique_ptr<Kernel> make_binary(const BinarySpec& spec);
std::unique_ptr<Kernel> make_scale(const ScaleSpec& spec);
std::unique_ptr<Kernel> make_unary(const UnarySpec& spec);
std::unique_ptr<Kernel> make_unary_grad(const UnaryGradSpec& spec);
std::unique_ptr<Kernel> make_dropout(const DropoutSpec& spec);
std::unique_ptr<Kernel> make_cast(const CastSpec& spec);

}  // namespace hocket::kernel
