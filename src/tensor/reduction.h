#pragma once

#include <cstdint>

namespace hocket {

// How values from several ranks become one.
enum class Reduction : std::uint8_t { sum, product, max, min, mean };

}  // namespace hocket
