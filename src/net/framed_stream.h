#pragma once

#include <poll.h>

#include <cstddef>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "net/clock.h"
#include "net/stream.h"

namespace hocket {

inline constexpr std::size_t kMaxFrameBytes = std::size_t{16} << 20;

// Messages over a stream, each after its length in four bytes. Never blocks but in flush(). progress() and
// receive() throw StreamClosed once every whole message that arrived has been received, and for a length
// above `max_bytes`. Used by one thread.
class FramedStream {
 public:
  explicit FramedStream(std::unique_ptr<Stream> stream, std::size_t max_bytes = kMaxFrameBytes)
      : stream_(std::move(stream)), max_bytes_(max_bytes) {}

  void send(std::span<const std::byte> message);    // Queues it and sends what can be sent now.
  void progress();                                  // Sends and receives what can be moved now.
  std::optional<std::vector<std::byte>> receive();  // The next message that is here as a whole.
  bool flush(TimePoint deadline);                   // Sends all that is queued; false at the deadline.

  pollfd to_poll() const;
  std::size_t queued_bytes() const { return outgoing_.size() - sent_; }

 private:
  std::size_t write_now(std::span<const std::byte> bytes);
  void send_queued();
  void make_room();
  void read_available();
  std::size_t unread_bytes() const { return filled_ - taken_; }
  std::optional<std::size_t> next_size() const;

  std::unique_ptr<Stream> stream_;
  std::size_t max_bytes_;
  std::vector<std::byte> incoming_;  // Of which [taken_, filled_) have come and are not received yet.
  std::size_t taken_ = 0, filled_ = 0;
  std::vector<std::byte> outgoing_;  // From sent_ on.
  std::size_t sent_ = 0;
};

}  // namespace hocket
