#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

// Numbers distinct ids 0, 1, … in the order in which they first come: how a batch's sparse ids become rows of
// a compact block. Keeps its memory between batches. Used by one thread.
class UniqueIds {
 public:
  UniqueIds() : slots_(kFewest) {}

  void clear();
  std::uint32_t add(std::uint64_t id);  // Its number.
  std::span<const std::uint64_t> ids() const { return ids_; }

 private:
  static constexpr std::size_t kFewest = 64;  // A power of two.

  struct Slot {
    std::uint64_t id = 0;
    std::uint32_t number = 0;
    std::uint32_t round = 0;  // Of clear() in which it was filled.
  };

  Slot& slot_of(std::uint64_t id);
  void grow();

  std::vector<Slot> slots_;
  std::vector<std::uint64_t> ids_;
  std::uint32_t round_ = 1;
};

}  // namespace hocket
