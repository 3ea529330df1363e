#pragma once

#include <cstdint>

#include "tensor/kernel.h"

namespace hocket::kernel {

// Operand `index` as elements of type T.
template <typename T = float>
T* operand(Buffers buffers, std::size_t index) {
  return reinterpret_cast<T*>(buffers[index]);
}

// Elements per range of a parallel loop over elements: below, starting threads costs more than the work.
inline constexpr std::int64_t kElementGrain = 16 * 1024;

}  // namespace hocket::kernel
