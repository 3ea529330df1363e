#include "net/ring_stream.h"

#include <algorithm>
#include <bit>
#include <cstring>

#include "base/error.h"

namespace hocket {

Ring::Ring(std::span<std::byte> memory, std::size_t capacity)
    : header_(reinterpret_cast<RingHeader*>(memory.data())),
      data_(memory.data() + sizeof(RingHeader)),
      capacity_(capacity) {
  HOCKET_CHECK(memory.size() >= bytes_for(capacity) && std::has_single_bit(capacity));
}

std::size_t Ring::write_some(std::span<const std::byte> bytes) {
  std::size_t room = capacity_ - (written_ - read_);
  if (room < bytes.size()) {
    read_ = header_->read.load(std::memory_order_acquire);
    // A peer that writes nonsense to the counter gets no more room than there is.
    room = capacity_ - std::min<std::uint64_t>(written_ - read_, capacity_);
  }
  const std::size_t n = std::min(room, bytes.size());
  if (n == 0) return 0;
  const std::size_t at = written_ & (capacity_ - 1);
  const std::size_t first = std::min(n, capacity_ - at);
  std::memcpy(data_ + at, bytes.data(), first);
  std::memcpy(data_, bytes.data() + first, n - first);
  written_ += n;
  header_->written.store(written_, std::memory_order_release);
  return n;
}

std::span<const std::byte> Ring::peek() {
  if (written_ == read_) written_ = header_->written.load(std::memory_order_acquire);
  const std::size_t at = read_ & (capacity_ - 1);
  const std::size_t arrived = std::min<std::uint64_t>(written_ - read_, capacity_);
  return {data_ + at, std::min(arrived, capacity_ - at)};
}

void Ring::consume(std::size_t bytes) {
  read_ += bytes;
  header_->read.store(read_, std::memory_order_release);
}

RingStream::~RingStream() {
  out_.close();
  in_.close();
}

std::size_t RingStream::write_some(std::span<const std::byte> bytes) {
  const std::size_t n = out_.write_some(bytes);
  if (n == 0 && !bytes.empty() && out_.is_closed()) throw StreamClosed("the peer has left");
  return n;
}

std::span<const std::byte> RingStream::peek() {
  const auto bytes = in_.peek();
  if (!bytes.empty() || !in_.is_closed()) return bytes;
  const auto last = in_.peek();  // What was written before the ring was closed is still to be had.
  if (last.empty()) throw StreamClosed("the peer has left");
  return last;
}

std::size_t RingStream::read_some(std::span<std::byte> into) {
  std::size_t total = 0;
  while (total < into.size()) {
    const auto bytes = total == 0 ? peek() : in_.peek();
    if (bytes.empty()) break;
    const std::size_t n = std::min(bytes.size(), into.size() - total);
    std::memcpy(into.data() + total, bytes.data(), n);
    in_.consume(n);
    total += n;
  }
  return total;
}

}  // namespace hocket
