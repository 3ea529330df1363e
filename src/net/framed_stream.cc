#include "net/framed_stream.h"

#include <algorithm>
#include <utility>

#include "net/socket.h"
#include "net/wire.h"

namespace hocket {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kReadBytes = 64 << 10;    // At least, at a time.
constexpr std::size_t kCopiedBytes = 64 << 10;  // Shorter messages go out with their header in one piece.

}  // namespace

void FramedStream::send(std::span<const std::byte> message) {
  WireWriter header;
  header.put(static_cast<std::uint32_t>(message.size()));
  outgoing_.insert(outgoing_.end(), header.bytes().begin(), header.bytes().end());
  if (message.size() > kCopiedBytes) {
    send_queued();
    if (queued_bytes() == 0) message = message.subspan(write_now(message));
  }
  outgoing_.insert(outgoing_.end(), message.begin(), message.end());
  send_queued();
}

// How many bytes went out. What the other end said before it closed still counts: the next read tells.
std::size_t FramedStream::write_now(std::span<const std::byte> bytes) {
  std::size_t moved = 0;
  try {
    while (moved < bytes.size()) {
      const std::size_t more = stream_->write_some(bytes.subspan(moved));
      if (more == 0) break;
      moved += more;
    }
  } catch (const StreamClosed&) {
    moved = bytes.size();
  }
  return moved;
}

void FramedStream::send_queued() {
  sent_ += write_now(std::span(outgoing_).subspan(sent_));
  if (2 * sent_ < outgoing_.size()) return;
  outgoing_.erase(outgoing_.begin(), outgoing_.begin() + static_cast<std::ptrdiff_t>(sent_));
  sent_ = 0;
}

void FramedStream::progress() {
  send_queued();
  read_available();
}

// Memory grows with the bytes that arrive, never with a length that is announced.
void FramedStream::make_room() {
  if (incoming_.size() - filled_ >= kReadBytes) return;
  if (taken_ > 0) {
    std::copy(incoming_.begin() + static_cast<std::ptrdiff_t>(taken_),
              incoming_.begin() + static_cast<std::ptrdiff_t>(filled_), incoming_.begin());
    filled_ -= std::exchange(taken_, 0);
  }
  if (incoming_.size() - filled_ < kReadBytes) incoming_.resize(std::max(2 * filled_, filled_ + kReadBytes));
}

void FramedStream::read_available() {
  while (unread_bytes() < kHeaderBytes + max_bytes_) {
    make_room();
    std::size_t more = 0;
    try {
      more = stream_->read_some(std::span(incoming_).subspan(filled_));
    } catch (const StreamClosed&) {
      if (next_size()) return;  // First what is here as a whole.
      throw;
    }
    filled_ += more;
    if (more == 0) return;
  }
}

std::optional<std::size_t> FramedStream::next_size() const {
  if (unread_bytes() < kHeaderBytes) return std::nullopt;
  const std::size_t size = WireReader(std::span(incoming_).subspan(taken_)).get<std::uint32_t>();
  if (size > max_bytes_) throw StreamClosed("a frame is longer than any can be");
  if (unread_bytes() < kHeaderBytes + size) return std::nullopt;
  return size;
}

std::optional<std::vector<std::byte>> FramedStream::receive() {
  const std::optional<std::size_t> size = next_size();
  if (!size) return std::nullopt;
  const auto begin = incoming_.begin() + static_cast<std::ptrdiff_t>(taken_ + kHeaderBytes);
  std::vector<std::byte> message(begin, begin + static_cast<std::ptrdiff_t>(*size));
  taken_ += kHeaderBytes + *size;
  if (unread_bytes() == 0) taken_ = filled_ = 0;
  return message;
}

bool FramedStream::flush(TimePoint deadline) {
  while (true) {
    send_queued();
    if (queued_bytes() == 0) return true;
    if (!wait_for(stream_->fd(), POLLOUT, deadline)) return false;
  }
}

pollfd FramedStream::to_poll() const {
  return {stream_->fd(), static_cast<short>(queued_bytes() == 0 ? POLLIN : POLLIN | POLLOUT), 0};
}

}  // namespace hocket
