#pragma once

#include <cstdint>

namespace hocket::kernel {

// y (columns, rows; rows y_stride apart) = xᵀ, of x (rows, columns; rows x_stride apart). They do not
// overlap. On the calling thread.
void transpose_floats(const float* x, std::int64_t x_stride, std::int64_t rows, std::int64_t columns,
                      float* y, std::int64_t y_stride);

}  // namespace hocket::kernel
