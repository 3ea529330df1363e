#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

namespace hocket {

// Memory without a name that other processes of this user can map: nothing is left behind however its users
// end. It is sealed, so that nobody who has mapped it can be made to fault by a peer that shrinks it. Zero at
// first; pages cost nothing until they are touched. Movable.
class MappedMemory {
 public:
  MappedMemory() = default;
  // New memory. Throws Error.
  static MappedMemory create(std::size_t bytes);
  // The memory that process `pid` has open as `fd`, which must be sealed and of that size. Throws Error.
  static MappedMemory open(int pid, int fd, std::size_t bytes);

  std::span<std::byte> bytes() const { return {memory_.get(), size_}; }
  int fd() const { return fd_; }  // -1 when opened from another process, or forgotten.
  void close_fd();                // Nobody can open it any more; the mapping stays.
  ~MappedMemory();
  MappedMemory(MappedMemory&& other) noexcept;
  MappedMemory& operator=(MappedMemory&& other) noexcept;

 private:
  struct Unmap {
    std::size_t bytes;
    void operator()(std::byte* memory) const;
  };
  static MappedMemory map(int fd, std::size_t bytes);

  std::unique_ptr<std::byte, Unmap> memory_;
  std::size_t size_ = 0;
  int fd_ = -1;
};

}  // namespace hocket
