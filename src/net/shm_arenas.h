#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <span>

#include "net/mapped_memory.h"
#include "net/rank.h"

namespace hocket {

// The arena of this process and those of its peers, as all groups of the job see them. A place is an offset
// in an arena. Thread-safe.
class ShmArenas {
 public:
  ShmArenas(Rank me, std::size_t bytes) : me_(me), mine_(MappedMemory::create(bytes)) {}

  const MappedMemory& mine() const { return mine_; }
  void add(Rank owner, MappedMemory arena);
  bool has(Rank owner) const;
  // The arena of `owner`, this rank's own included; mapped for as long as this object lives.
  std::span<std::byte> of(Rank owner) const;

  std::optional<std::uint64_t> place_of(const void* data, std::size_t bytes) const;
  std::span<std::byte> allocate(std::size_t bytes);  // Throws Error when it is full.

 private:
  Rank me_;
  MappedMemory mine_;
  mutable std::mutex mutex_;
  std::size_t used_ = 0;
  std::map<Rank, MappedMemory> others_;
};

}  // namespace hocket
