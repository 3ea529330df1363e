#include "net/framed_stream.h"

#include "net/socket.h"
#include "net/wire.h"

namespace hocket {
namespace {

constexpr std::size_t kHeaderBytes = 4;
constexpr std::size_t kReadBytes = 16 << 10;

void drop_front(std::vector<std::byte>& bytes, std::size_t count) {
  bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

void FramedStream::send(std::span<const std::byte> message) {
  WireWriter header;
  header.put(static_cast<std::uint32_t>(message.size()));
  outgoing_.insert(outgoing_.end(), header.bytes().begin(), header.bytes().end());
  outgoing_.insert(outgoing_.end(), message.begin(), message.end());
  send_queued();
}

void FramedStream::send_queued() {
  std::size_t moved = 0;
  try {
    while (moved < outgoing_.size()) {
      const std::size_t more = stream_->write_some(std::span(outgoing_).subspan(moved));
      if (more == 0) break;
      moved += more;
    }
  } catch (const StreamClosed&) {
    moved = outgoing_.size();  // What the other end said before it closed still counts; the next read tells.
  }
  drop_front(outgoing_, moved);
}

void FramedStream::progress() {
  send_queued();
  read_available();
}

// Memory grows with the bytes that arrive, never with a length that is announced.
void FramedStream::read_available() {
  while (incoming_.size() < kHeaderBytes + max_bytes_) {
    const std::size_t before = incoming_.size();
    incoming_.resize(before + kReadBytes);
    std::size_t more = 0;
    try {
      more = stream_->read_some(std::span(incoming_).subspan(before));
    } catch (const StreamClosed&) {
      incoming_.resize(before);
      if (next_size()) return;  // First what is here as a whole.
      throw;
    }
    incoming_.resize(before + more);
    if (more == 0) return;
  }
}

std::optional<std::size_t> FramedStream::next_size() const {
  if (incoming_.size() < kHeaderBytes) return std::nullopt;
  const std::size_t size = WireReader(incoming_).get<std::uint32_t>();
  if (size > max_bytes_) throw StreamClosed("a frame is longer than any can be");
  if (incoming_.size() < kHeaderBytes + size) return std::nullopt;
  return size;
}

std::optional<std::vector<std::byte>> FramedStream::receive() {
  const std::optional<std::size_t> size = next_size();
  if (!size) return std::nullopt;
  const auto begin = incoming_.begin() + kHeaderBytes;
  std::vector<std::byte> message(begin, begin + static_cast<std::ptrdiff_t>(*size));
  drop_front(incoming_, kHeaderBytes + *size);
  return message;
}

bool FramedStream::flush(TimePoint deadline) {
  while (true) {
    send_queued();
    if (outgoing_.empty()) return true;
    if (!wait_for(stream_->fd(), POLLOUT, deadline)) return false;
  }
}

pollfd FramedStream::to_poll() const {
  return {stream_->fd(), static_cast<short>(outgoing_.empty() ? POLLIN : POLLIN | POLLOUT), 0};
}

}  // namespace hocket
