#pragma once

#include <cstdint>

namespace hocket {

// What this process has used so far.
double process_cpu_seconds();
std::int64_t process_peak_rss_bytes();

}  // namespace hocket
