#pragma once

#include <chrono>

namespace hocket {

// The clock of the real cluster.
inline double seconds_since_1970() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

}  // namespace hocket
