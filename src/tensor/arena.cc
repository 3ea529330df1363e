#include "tensor/arena.h"

#include <sys/mman.h>
#include <unistd.h>

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

void Arena::release(std::size_t offset, std::size_t bytes) const {
  HOCKET_CHECK(owned_ != nullptr && offset + bytes <= bytes_.size(), "no such part of an arena of its own");
  const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
  const std::size_t begin = align_up(offset, page);
  const std::size_t end = (offset + bytes) / page * page;
  if (begin < end) ::madvise(bytes_.data() + begin, end - begin, MADV_DONTNEED);
}

void Arena::Unmap::operator()(std::byte* memory) const { ::munmap(memory, bytes); }

}  // namespace hocket
