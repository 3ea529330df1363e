#include "tensor/kernels/threads.h"

#include <gtest/gtest.h>

#include <vector>

namespace hocket::kernel {
namespace {

TEST(ParallelFor, CoversEveryItemOnce) {
  for (const std::int64_t count : {0, 1, 7, 64, 1000}) {
    for (const std::int64_t grain : {1, 3, 64}) {
      std::vector<int> seen(static_cast<std::size_t>(count), 0);
      parallel_for(count, grain, [&](std::int64_t begin, std::int64_t end) {
        EXPECT_EQ(begin % grain, 0);
        for (std::int64_t i = begin; i < end; ++i) ++seen[static_cast<std::size_t>(i)];
      });
      EXPECT_EQ(seen, std::vector<int>(static_cast<std::size_t>(count), 1));
    }
  }
}

TEST(Threads, AtLeastOne) {
  set_num_threads(0);
  EXPECT_EQ(num_threads(), 1);
}

}  // namespace
}  // namespace hocket::kernel
