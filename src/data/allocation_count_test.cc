#include <atomic>
#include <cstdlib>
#include <new>

#include "data/test_files.h"

// Replaces operator new for the whole test program, in a file that allocates nothing itself: a compiler that
// sees both takes the pair for a mismatch.
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

}  // namespace hocket
