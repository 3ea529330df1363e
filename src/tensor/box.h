#pragma once

#include <cstdint>
#include <span>

#include "tensor/tensor.h"

// A part of a tensor that is an interval in every dimension, starting at `begin`; both have one dtype.
namespace hocket {

void copy_from_box(const Tensor& whole, std::span<const std::int64_t> begin, const Tensor& part);
void copy_to_box(const Tensor& part, const Tensor& whole, std::span<const std::int64_t> begin);

}  // namespace hocket
