#include "tensor/arena.h"

#include <sys/mman.h>

#include <cstdint>

#include "base/error.h"

namespace hocket {

Arena::Arena(std::size_t bytes) {
  if (bytes == 0) return;
  void* memory = ::mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED)
    throw Error("cannot allocate {:.1f} MiB of memory", static_cast<double>(bytes) / (1 << 20));
  ::madvise(memory, bytes, MADV_HUGEPAGE);  // A hint: large tensors then need fewer TLB entries.
  owned_ = {static_cast<std::byte*>(memory), Unmap{bytes}};
  bytes_ = {owned_.get(), bytes};
}

Arena::Arena(std::span<std::byte> borrowed) : bytes_(borrowed) {
  HOCKET_CHECK(reinterpret_cast<std::uintptr_t>(borrowed.data()) % kAlignment == 0,
               "borrowed arena is misaligned");
}

void Arena::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

}  // namespace hocket
