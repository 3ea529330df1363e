#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "net/emulation.h"
#include "net/frame.h"
#include "net/stream.h"
#include "net/transport.h"

namespace hocket {

// Where a message that is expected goes: to `into`, or piece by piece to the sink.
struct Incoming {
  std::byte* into = nullptr;
  Sink sink;
  std::size_t bytes = 0;
  std::size_t offset = 0;  // Of this part in the whole message, for the sink.
};

// The emulated link that a lane runs over; none without a ledger. Ranks of the job.
struct EmulatedLink {
  LinkLedger* ledger = nullptr;
  Rank me = 0;
  Rank peer = 0;
};

// Transfers in the order they were started.
template <typename Transfer>
class TransferQueue {
 public:
  bool empty() const { return next_ == transfers_.size(); }
  Transfer& front() { return transfers_[next_]; }
  const Transfer& front() const { return transfers_[next_]; }
  void push(Transfer transfer) { transfers_.push_back(std::move(transfer)); }
  void pop() {
    if (++next_ < transfers_.size()) return;
    transfers_.clear();
    next_ = 0;
  }

 private:
  std::vector<Transfer> transfers_;  // Keeps its capacity: nothing is allocated in the steady state.
  std::size_t next_ = 0;
};

// The two queues of transfers of one stream, and how far their first ones are. Used by one thread.
class Lane {
 public:
  Lane(std::unique_ptr<Stream> stream, std::uint64_t job, EmulatedLink link = {})
      : stream_(std::move(stream)), job_(static_cast<std::uint32_t>(job)), link_(link) {}

  void send(std::uint64_t serial, const Label& label, std::span<const std::byte> bytes);
  // Emulated links: wanted since `posted`.
  void recv(std::uint64_t serial, const Label& label, Incoming incoming, TimePoint posted);

  // Move what can be moved now; whether anything was. Throw StreamClosed, or FrameMismatch with the two
  // labels through `text_of`.
  bool advance_send();
  bool advance_recv(const std::function<std::string(const Label&)>& text_of);

  bool has_sent(std::uint64_t serial) const { return sends_.empty() || sends_.front().serial > serial; }
  bool has_received(std::uint64_t serial) const { return recvs_.empty() || recvs_.front().serial > serial; }
  bool is_idle() const { return sends_.empty() && recvs_.empty(); }
  bool wants_to_write() const;  // Or all that is to be sent has been.
  bool wants_to_read() const;
  // Emulated links: when the first of what has moved already counts as moved; nothing if there is none.
  std::optional<TimePoint> due() const;
  const Label* label_of_first(Pending::Direction direction) const;
  int fd() const { return stream_->fd(); }

 private:
  struct Outgoing {
    std::uint64_t serial;
    FrameHeader header;
    std::span<const std::byte> bytes;
    std::int64_t sent_at;  // Emulated: not sent before this time.
    std::size_t done = 0;  // Of header, payload and padding together.
  };
  struct Expected {
    std::uint64_t serial;
    Label label;
    Incoming incoming;
    TimePoint posted;             // Emulated: wanted since,
    std::int64_t deliver_at = 0;  // not delivered before this time.
    std::size_t done = 0;         // As above.
  };

  bool read_header(Expected& expected, const std::function<std::string(const Label&)>& text_of);
  bool read_payload(Expected& expected);
  bool take_where_it_lies(Expected& expected, std::size_t done, std::size_t wanted);
  bool take_through_stage(Expected& expected, std::size_t done, std::size_t wanted);
  bool skip_padding(Expected& expected, std::size_t total);

  std::unique_ptr<Stream> stream_;
  std::uint32_t job_;
  EmulatedLink link_;
  TransferQueue<Outgoing> sends_;
  TransferQueue<Expected> recvs_;
  FrameHeader incoming_header_;
  std::vector<std::byte> stage_;  // Where bytes for a sink are read to when the stream cannot show them.
  std::size_t staged_ = 0;        // Bytes in it that the sink has not had: less than kFramePadding.
};

}  // namespace hocket
