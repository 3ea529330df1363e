#include "net/lane.h"

#include <algorithm>
#include <cstring>
#include <limits>

namespace hocket {

namespace {

constexpr std::size_t kHeader = sizeof(FrameHeader);
constexpr std::size_t kStageBytes = std::size_t{1} << 17;

constexpr std::size_t pad(std::size_t bytes) {
  return (bytes + kFramePadding - 1) / kFramePadding * kFramePadding;
}

Seconds seconds(std::int64_t ns) { return Seconds(static_cast<double>(ns) * 1e-9); }
std::int64_t nanoseconds(Seconds time) { return static_cast<std::int64_t>(time.count() * 1e9); }

bool is_due(std::int64_t time) { return time == 0 || now_ns() >= time; }

constexpr std::byte kZeros[kFramePadding] = {};

// Takes `piece` without the first `done` bytes of it, which `done` then no longer counts.
std::span<const std::byte> rest_of(std::span<const std::byte> piece, std::size_t& done) {
  const std::size_t skipped = std::min(done, piece.size());
  done -= skipped;
  return piece.subspan(skipped);
}

}  // namespace

void Lane::send(std::uint64_t serial, const Label& label, std::span<const std::byte> bytes) {
  FrameHeader header;
  header.job = job_;
  header.bytes = bytes.size();
  header.label = label;
  std::int64_t sent_at = 0;
  if (link_.ledger != nullptr) {
    const auto passage = link_.ledger->reserve(link_.me, link_.peer, bytes.size(), seconds(now_ns()));
    header.posted_at = nanoseconds(passage.posted);
    header.carried_after = static_cast<std::uint32_t>((passage.carried - passage.posted).count() * 1e7);
    sent_at = nanoseconds(link_.ledger->sent(link_.me));
  }
  sends_.push({serial, header, bytes, sent_at});
}

void Lane::recv(std::uint64_t serial, const Label& label, Incoming incoming, TimePoint posted) {
  recvs_.push({serial, label, incoming, posted});
}

const Label* Lane::label_of_first(Pending::Direction direction) const {
  if (direction == Pending::Direction::send) return sends_.empty() ? nullptr : &sends_.front().header.label;
  return recvs_.empty() ? nullptr : &recvs_.front().label;
}

bool Lane::wants_to_write() const {
  return !sends_.empty() && sends_.front().done < kHeader + pad(sends_.front().bytes.size());
}

bool Lane::wants_to_read() const {
  return !recvs_.empty() && recvs_.front().done < kHeader + pad(recvs_.front().incoming.bytes);
}

std::optional<TimePoint> Lane::due() const {
  const bool holds_send = !sends_.empty() && !wants_to_write();
  const bool holds_recv = !recvs_.empty() && !wants_to_read();
  if (!holds_send && !holds_recv) return std::nullopt;
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();
  return TimePoint(std::chrono::nanoseconds(std::min(holds_send ? sends_.front().sent_at : kNever,
                                                     holds_recv ? recvs_.front().deliver_at : kNever)));
}

bool Lane::advance_send() {
  bool moved = false;
  while (!sends_.empty()) {
    Outgoing& out = sends_.front();
    const std::size_t total = kHeader + pad(out.bytes.size());
    while (out.done < total) {
      std::size_t done = out.done;
      const std::span<const std::byte> pieces[] = {
          rest_of(std::as_bytes(std::span(&out.header, 1)), done), rest_of(out.bytes, done),
          rest_of(std::span(kZeros).first(pad(out.bytes.size()) - out.bytes.size()), done)};
      const std::size_t n = stream_->write_pieces(pieces);
      if (n == 0) return moved;
      out.done += n;
      moved = true;
    }
    if (!is_due(out.sent_at)) return moved;
    sends_.pop();
    moved = true;
  }
  return moved;
}

bool Lane::advance_recv(const std::function<std::string(const Label&)>& text_of) {
  bool moved = false;
  while (!recvs_.empty()) {
    Expected& expected = recvs_.front();
    const std::size_t before = expected.done;
    const bool complete = read_header(expected, text_of) && read_payload(expected);
    moved |= expected.done != before;
    if (!complete || !is_due(expected.deliver_at)) return moved;
    recvs_.pop();
    moved = true;
  }
  return moved;
}

// Whether the header has been read and is what was expected.
bool Lane::read_header(Expected& expected, const std::function<std::string(const Label&)>& text_of) {
  if (expected.done >= kHeader) return true;
  const auto bytes = std::as_writable_bytes(std::span(&incoming_header_, 1));
  expected.done += stream_->read_some(bytes.subspan(expected.done));
  if (expected.done < kHeader) return false;

  const FrameHeader header = expect_frame(bytes, job_, expected.label, expected.incoming.bytes, text_of);
  if (link_.ledger != nullptr) {
    const LinkLedger::Passage passage{seconds(header.posted_at),
                                      seconds(header.posted_at) + Seconds(header.carried_after * 1e-7)};
    expected.deliver_at = nanoseconds(link_.ledger->deliver(link_.peer, link_.me, header.bytes, passage,
                                                            expected.posted.time_since_epoch()));
  }
  return true;
}

// Whether payload and padding have been read.
bool Lane::read_payload(Expected& expected) {
  const Incoming& incoming = expected.incoming;
  const std::size_t total = kHeader + pad(incoming.bytes);
  while (expected.done < kHeader + incoming.bytes) {
    const std::size_t done = expected.done - kHeader;
    const std::size_t wanted = incoming.bytes - done;
    bool moved = false;
    if (incoming.sink.take == nullptr) {
      const std::size_t n = stream_->read_some({incoming.into + done, wanted});
      expected.done += n;
      moved = n > 0;
    } else if (stream_->can_peek()) {
      moved = take_where_it_lies(expected, done, wanted);
    } else {
      moved = take_through_stage(expected, done, wanted);
    }
    if (!moved) return false;
  }
  return skip_padding(expected, total);
}

// Hands the sink whole elements only: kFramePadding is a multiple of every element, and pieces end there or
// at the end.
bool Lane::take_where_it_lies(Expected& expected, std::size_t done, std::size_t wanted) {
  const auto bytes = stream_->peek();
  std::size_t n = std::min(bytes.size(), wanted);
  if (n < wanted) n -= n % kFramePadding;
  if (n == 0) return false;
  const Incoming& incoming = expected.incoming;
  incoming.sink.take(incoming.sink.context, incoming.offset + done, bytes.first(n));
  stream_->consume(n);
  expected.done += n;
  return true;
}

bool Lane::take_through_stage(Expected& expected, std::size_t done, std::size_t wanted) {
  if (stage_.empty()) stage_.resize(kStageBytes);
  const std::size_t room = std::min(wanted, kStageBytes) - staged_;
  const std::size_t arrived = staged_ + stream_->read_some(std::span(stage_).subspan(staged_, room));
  const std::size_t n = arrived < wanted ? arrived - arrived % kFramePadding : arrived;
  const bool moved = arrived != staged_;
  if (n > 0) {
    const Incoming& incoming = expected.incoming;
    incoming.sink.take(incoming.sink.context, incoming.offset + done, std::span(stage_).first(n));
    std::memmove(stage_.data(), stage_.data() + n, arrived - n);
    expected.done += n;
  }
  staged_ = arrived - n;
  return moved;
}

bool Lane::skip_padding(Expected& expected, std::size_t total) {
  std::byte padding[kFramePadding];
  while (expected.done < total) {
    const std::size_t n = stream_->read_some(std::span(padding).first(total - expected.done));
    if (n == 0) return false;
    expected.done += n;
  }
  return true;
}

}  // namespace hocket
