#pragma once

#include <atomic>
#include <cstdint>

namespace hocket {

// Calls of operator new since the start of a test program that links allocation_counts_test.cc.
struct AllocationCounts {
  std::atomic<std::int64_t> ours{0};
  std::atomic<std::int64_t> library{0};  // oneDNN's.
};

const AllocationCounts& allocation_counts();

}  // namespace hocket
