#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <stdexcept>
#include <vector>

#include "net/rank.h"
#include "net/shared_memory.h"

namespace hocket {

// The other end is gone; what() says how.
class StreamClosed final : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// Bytes to and from one peer, in order. Never blocks: the calls move what can be moved now and return how
// much that was. Throws StreamClosed. Used by one thread.
class Stream {
 public:
  virtual ~Stream() = default;

  virtual std::size_t write_some(std::span<const std::byte> bytes) = 0;
  // The same with several pieces, one after the other.
  virtual std::size_t write_pieces(std::span<const std::span<const std::byte>> pieces) {
    std::size_t written = 0;
    for (const auto& piece : pieces) {
      const std::size_t n = piece.empty() ? 0 : write_some(piece);
      written += n;
      if (n < piece.size()) break;
    }
    return written;
  }
  virtual std::size_t read_some(std::span<std::byte> into) = 0;

  // Where can_peek(): the bytes that have arrived, where they lie until consume() gives them back.
  virtual bool can_peek() const { return false; }
  virtual std::span<const std::byte> peek() { return {}; }
  virtual void consume(std::size_t /*bytes*/) {}

  // What to poll(2) for bytes or for room; -1 when the stream is memory.
  virtual int fd() const { return -1; }
};

// Opens streams between the members of a channel (a group of ranks): every member calls connect() with the
// same channel and members. Thread-safe across channels. Throws NetError when a member does not come before
// the deadline or fails.
class Connector {
 public:
  virtual ~Connector() = default;

  // One vector of streams a member (several for large messages), in the order of `members`; none to oneself.
  virtual std::vector<std::vector<std::unique_ptr<Stream>>> connect(unsigned channel,
                                                                    std::span<const Rank> members) = 0;

  // After connect(): the memory that all members have in common, or nullptr where they have none.
  virtual std::unique_ptr<SharedMemory> share(unsigned /*channel*/, std::span<const Rank> /*members*/) {
    return nullptr;
  }
};

}  // namespace hocket
