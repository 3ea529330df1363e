#pragma once

#include <bit>
#include <cstdint>
#include <cstring>
#include <vector>

#include "tensor/arena.h"

namespace hocket {

// Rows of equal size in blocks of memory, so that they never move and more of them cost no copy. A row begins
// with its id; what follows begins zeroed. Used by one thread.
class RowChunks {
 public:
  static constexpr std::size_t kIdBytes = sizeof(std::uint64_t);

  explicit RowChunks(std::size_t payload_bytes)
      : row_bytes_(kIdBytes + payload_bytes),
        shift_(std::bit_width(std::max<std::size_t>(1, kChunkBytes / row_bytes_)) - 1) {}

  std::size_t size() const { return size_; }
  std::size_t row_bytes() const { return row_bytes_; }
  std::size_t bytes() const { return bytes_for(size_); }
  std::size_t bytes_for(std::size_t rows) const {
    const std::size_t in_chunk = std::size_t{1} << shift_;
    return (rows + in_chunk - 1) / in_chunk * in_chunk * row_bytes_;
  }

  std::byte* record(std::size_t row) const {
    return chunks_[row >> shift_].data() + (row & ((std::size_t{1} << shift_) - 1)) * row_bytes_;
  }
  std::byte* payload(std::size_t row) const { return record(row) + kIdBytes; }
  std::uint64_t id(std::size_t row) const {
    std::uint64_t id = 0;
    std::memcpy(&id, record(row), kIdBytes);
    return id;
  }

  std::size_t add(std::uint64_t id) {
    if (size_ >> shift_ == chunks_.size()) chunks_.emplace_back(row_bytes_ << shift_);
    std::memcpy(record(size_), &id, kIdBytes);
    return size_++;
  }

 private:
  static constexpr std::size_t kChunkBytes = std::size_t{2} << 20;

  std::size_t row_bytes_;
  int shift_;  // Rows of a chunk: 2^shift.
  std::vector<Arena> chunks_;
  std::size_t size_ = 0;
};

}  // namespace hocket
