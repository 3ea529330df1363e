#pragma once

#include <cstddef>

#include "tensor/arena.h"

namespace hocket::kernel {

// Hands out 64-byte aligned pieces of a kernel's scratch memory while the kernel is made.
class ScratchPlan {
 public:
  std::size_t add(std::size_t bytes) {
    const std::size_t offset = size_;
    size_ += align_up(bytes);
    return offset;
  }
  std::size_t size() const { return size_; }

 private:
  std::size_t size_ = 0;
};

}  // namespace hocket::kernel
