#pragma once

#include <chrono>

namespace hocket {

using Clock = std::chrono::steady_clock;
using TimePoint = Clock::time_point;
using Seconds = std::chrono::duration<double>;

inline TimePoint after(Seconds wait) {
  return Clock::now() + std::chrono::duration_cast<Clock::duration>(wait);
}

}  // namespace hocket
