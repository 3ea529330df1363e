#pragma once

#include <cstddef>
#include <memory>
#include <span>

namespace hocket {

// Buffers start on this boundary: a cache line, and the widest vector.
inline constexpr std::size_t kAlignment = 64;

constexpr std::size_t align_up(std::size_t bytes, std::size_t alignment = kAlignment) {
  return (bytes + alignment - 1) / alignment * alignment;
}

// A block of zeroed, 64-byte aligned memory: its own, or a caller's (such as shared memory), which must
// outlive it. Movable; used by one thread unless the caller arranges otherwise.
class Arena {
 public:
  Arena() = default;
  explicit Arena(std::size_t bytes);              // Owns its memory; throws Error when there is not enough.
  explicit Arena(std::span<std::byte> borrowed);  // Borrowed memory, 64-byte aligned, used as it is.

  std::byte* data() const { return bytes_.data(); }
  std::size_t size() const { return bytes_.size(); }
  std::span<std::byte> bytes() const { return bytes_; }

  // The `count` elements of type T that start at byte `offset`.
  template <typename T>
  std::span<T> at(std::size_t offset, std::size_t count) const {
    return {reinterpret_cast<T*>(bytes_.data() + offset), count};
  }

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };

  std::unique_ptr<std::byte, Unmap> owned_;
  std::span<std::byte> bytes_;
};

}  // namespace hocket
