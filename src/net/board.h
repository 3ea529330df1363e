#pragma once

#include <cstddef>

namespace hocket {

// The size of every group's board (SharedMemory::board).
inline constexpr std::size_t kBoardBytes = std::size_t{1} << 20;

}  // namespace hocket
