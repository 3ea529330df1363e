#pragma once

#include <cstdint>

namespace hocket::kernel {

// y[r][c] = act(y[r][c] + bias[c]) on a (rows, width) tile whose rows are `stride` apart. `bias` may be null.
void apply_epilogue(float* y, std::int64_t rows, std::int64_t width, std::int64_t stride, const float* bias,
                    bool relu);

}  // namespace hocket::kernel
