#pragma once

#include <cstdint>

namespace hocket {

// How the elements of a tensor lie in memory. Kernels take it per operand; a logical shape is the same in
// both.
enum class Layout : std::uint8_t {
  plain,          // Row-major in the order of the dimensions.
  channels_last,  // (N, C, H, W) stored as N, H, W, C: what convolutions prefer.
};

}  // namespace hocket
