#pragma once

#include <cstdint>

#include "ps/row_chunks.h"
#include "tensor/arena.h"

namespace hocket {

// Finds the row of an id. Grows by half without a pause: an insertion moves at most kMovedSlots slots of the
// old table, from its beginning on, and memory passes from the old one to the new as they go. Used by one
// thread; the rows must outlive it. Throws Error where ids were made to collide.
class IdIndex {
 public:
  static constexpr std::uint32_t kNoRow = ~std::uint32_t{0};
  static constexpr std::size_t kMovedSlots = 16;

  explicit IdIndex(const RowChunks& rows);

  std::uint32_t find(std::uint64_t id) const;
  void insert(std::uint64_t id, std::uint32_t row);  // An id that is not there.
  void prefetch(std::uint64_t id) const;             // Its slot,
  void prefetch_row(std::uint64_t id) const;         // and then its row.

  std::size_t bytes() const;                              // That it takes now,
  static std::size_t bytes_for(std::size_t rows);         // and with so many rows.
  std::size_t most_moved() const { return most_moved_; }  // By one insertion.

 private:
  // Open addressing, linear probing without wrapping: behind the last home there is room for what is
  // displaced.
  struct Slots {
    Slots() = default;
    explicit Slots(std::size_t homes);

    std::size_t home(std::uint64_t hash) const;
    std::size_t size() const { return size_; }

    std::size_t homes = 0;
    std::size_t size_ = 0;
    Arena tags;  // One byte of the hash; 0: empty.
    Arena rows;
  };

  const Slots& slots_for(std::uint64_t hash) const;  // Where a new id of this hash goes.
  std::uint32_t find_in(const Slots& slots, std::size_t from, std::uint8_t tag, std::uint64_t id) const;
  static void put(const Slots& slots, std::uint64_t hash, std::uint32_t row);
  void move_some();
  void grow();

  const RowChunks& rows_;
  Slots now_;
  Slots old_;              // While it is moved to now_; else without slots.
  std::size_t moved_ = 0;  // Slots of old_ whose content is in now_.
  std::size_t count_ = 0;
  std::size_t most_moved_ = 0;
};

}  // namespace hocket
