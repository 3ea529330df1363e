#pragma once

#include <cstddef>
#include <cstdint>

namespace hocket::kernel {

// Positions grouped by the id they carry: what turns scattered gradients into unique rows, in a fixed order.
//
// Works in the caller's memory, which holds `capacity` positions twice. Used by one thread.
class RowGroups {
 public:
  static constexpr std::size_t bytes(std::int64_t capacity) {
    return 2 * static_cast<std::size_t>(capacity) * sizeof(std::uint64_t);
  }

  // Sorts the positions of the ids in [0, bound) by id, then by position; other ids are left out.
  RowGroups(const std::int32_t* ids, std::int64_t count, std::int64_t bound, std::byte* memory);

  // Calls body(id, position, is_first) for each in order: is_first at the first position of an id.
  template <typename Body>
  void for_each(const Body& body) const {
    std::int64_t last = -1;
    for (std::int64_t i = 0; i < count_; ++i) {
      const auto id = static_cast<std::int64_t>(keys_[i] >> 32);
      body(id, static_cast<std::int64_t>(keys_[i] & 0xffffffff), id != last);
      last = id;
    }
  }

 private:
  const std::uint64_t* keys_ = nullptr;  // The id in the upper half, the position in the lower.
  std::int64_t count_ = 0;
};

}  // namespace hocket::kernel
