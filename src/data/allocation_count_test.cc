#include <gtest/gtest.h>

#include <atomic>
#include <cstdlib>
#include <memory>
#include <new>

#include "data/test_files.h"

// Replaces operator new for the whole test program, in a file of its own so that the compiler does not see
// through it.
namespace {

std::atomic<std::int64_t> allocations = 0;

}  // namespace

void* operator new(std::size_t size) {
  ++allocations;
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }

namespace hocket {

std::int64_t allocation_count() { return allocations; }

TEST(AllocationCount, SeesAnAllocation) {
  const std::int64_t before = allocation_count();
  std::string longer_than_the_object(100, 'x');
  EXPECT_GT(allocation_count(), before);
}

}  // namespace hocket
