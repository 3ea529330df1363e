#pragma once

#include <chrono>
#include <cstdint>

namespace hocket {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Seconds = std::chrono::duration<double>;

inline TimePoint after(Seconds wait) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
}

inline std::int64_t now_ns() {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

}  // namespace hocket
