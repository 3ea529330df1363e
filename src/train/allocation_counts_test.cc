// Replaces operator new for the whole test program, in a file that allocates nothing itself: a compiler that
// sees both takes the pair for a mismatch. oneDNN's own calls are told from ours by the address they come
// from.
#include <dlfcn.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <new>

#include "train/test_allocations.h"

namespace {

hocket::AllocationCounts counts;

bool comes_from_onednn(const void* address) {
  Dl_info info{};
  return ::dladdr(address, &info) != 0 && info.dli_fname != nullptr &&
         std::strstr(info.dli_fname, "dnnl") != nullptr;
}

// Null when there is no memory left.
void* try_counted(std::size_t bytes, std::size_t alignment, const void* caller) {
  ++(comes_from_onednn(caller) ? counts.library : counts.ours);
  const std::size_t whole = (std::max<std::size_t>(bytes, 1) + alignment - 1) / alignment * alignment;
  return std::aligned_alloc(alignment, whole);
}

void* counted(std::size_t bytes, std::size_t alignment, const void* caller) {
  void* memory = try_counted(bytes, alignment, caller);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void* operator new(std::size_t bytes) { return counted(bytes, 16, __builtin_return_address(0)); }
void* operator new[](std::size_t bytes) { return counted(bytes, 16, __builtin_return_address(0)); }
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return counted(bytes, static_cast<std::size_t>(alignment), __builtin_return_address(0));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return try_counted(bytes, 16, __builtin_return_address(0));
}
void* operator new[](std::size_t bytes, const std::nothrow_t&) noexcept {
  return try_counted(bytes, 16, __builtin_return_address(0));
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete[](void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete[](void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace hocket {

const AllocationCounts& allocation_counts() { return counts; }

}  // namespace hocket
