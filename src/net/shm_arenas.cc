#include "net/shm_arenas.h"

#include <utility>

#include "base/error.h"

namespace hocket {

void ShmArenas::add(Rank owner, MappedMemory arena) {
  const std::lock_guard lock(mutex_);
  others_.try_emplace(owner, std::move(arena));
}

bool ShmArenas::has(Rank owner) const {
  const std::lock_guard lock(mutex_);
  return owner == me_ || others_.contains(owner);
}

std::span<std::byte> ShmArenas::of(Rank owner) const {
  if (owner == me_) return mine_.bytes();
  const std::lock_guard lock(mutex_);
  return others_.at(owner).bytes();
}

std::optional<std::uint64_t> ShmArenas::place_of(const void* data, std::size_t bytes) const {
  const auto start = reinterpret_cast<std::uint64_t>(mine_.bytes().data());
  const auto address = reinterpret_cast<std::uint64_t>(data);
  if (address < start || address + bytes > start + mine_.bytes().size()) return std::nullopt;
  return address - start;
}

std::span<std::byte> ShmArenas::allocate(std::size_t bytes) {
  const std::lock_guard lock(mutex_);
  const std::size_t padded = (bytes + 63) / 64 * 64;
  if (padded > mine_.bytes().size() - used_) {
    throw Error("the shared arena of {} bytes has no {} bytes left", mine_.bytes().size(), bytes);
  }
  const auto block = mine_.bytes().subspan(used_, bytes);
  used_ += padded;
  return block;
}

}  // namespace hocket
