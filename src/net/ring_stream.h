#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>

#include "net/stream.h"

namespace hocket {

// A pipe in memory from one writer to one reader, which may be threads or processes. `memory` is zero at
// first.
struct RingHeader {
  alignas(64) std::atomic<std::uint64_t> written;  // Bytes so far; changed by the writer.
  alignas(64) std::atomic<std::uint64_t> read;     // Bytes so far; changed by the reader.
  alignas(64) std::atomic<std::uint32_t> closed;   // Either side has gone on purpose.
};

class Ring {
 public:
  Ring() = default;
  // `memory`: 64-byte aligned, bytes_for(capacity) long; the capacity is a power of two.
  Ring(std::span<std::byte> memory, std::size_t capacity);

  static std::size_t bytes_for(std::size_t capacity) { return sizeof(RingHeader) + capacity; }

  std::size_t write_some(std::span<const std::byte> bytes);
  std::span<const std::byte> peek();  // What lies in one piece.
  void consume(std::size_t bytes);
  void close() { header_->closed.store(1, std::memory_order_release); }
  bool is_closed() const { return header_->closed.load(std::memory_order_acquire) != 0; }

 private:
  RingHeader* header_ = nullptr;
  std::byte* data_ = nullptr;
  std::size_t capacity_ = 0;
  std::uint64_t written_ = 0;  // This side's own counter, and the last that it saw of the other's.
  std::uint64_t read_ = 0;
};

// Two rings: one to the peer, one from it. `memory` keeps the rings' memory alive.
class RingStream final : public Stream {
 public:
  RingStream(Ring out, Ring in, std::shared_ptr<void> memory)
      : out_(out), in_(in), memory_(std::move(memory)) {}
  ~RingStream() override;

  std::size_t write_some(std::span<const std::byte> bytes) override;
  std::size_t read_some(std::span<std::byte> into) override;
  bool can_peek() const override { return true; }
  std::span<const std::byte> peek() override;
  void consume(std::size_t bytes) override { in_.consume(bytes); }

 private:
  Ring out_;
  Ring in_;
  std::shared_ptr<void> memory_;
};

}  // namespace hocket
