#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "net/rank.h"

namespace hocket {

// Memory that every rank of a group sees: a small board for flags, and each rank's arena, mapped by all.
// The object is used by one thread; the memory is as shared as its users make it.
class SharedMemory {
 public:
  virtual ~SharedMemory() = default;

  // The same bytes on every rank, zero at first, 64-byte aligned.
  virtual std::span<std::byte> board() = 0;

  // The place of [data, data + bytes) as all ranks can name it, when it lies in this rank's arena.
  virtual std::optional<std::uint64_t> place_of(const void* data, std::size_t bytes) const = 0;
  // What `owner` calls `place`, as this rank can reach it.
  virtual std::byte* at(Rank owner, std::uint64_t place) const = 0;

  // `bytes` of this rank's arena, 64-byte aligned and zero, for good. Throws Error when the arena is full.
  virtual std::span<std::byte> allocate(std::size_t bytes) = 0;
};

}  // namespace hocket
