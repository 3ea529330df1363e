#include "net/mpi_lane.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "net/frame.h"

namespace hocket {

namespace {

constexpr std::size_t kHeader = sizeof(FrameHeader);

bool is_small(std::size_t bytes) { return bytes <= MpiLane::kSmallBytes; }

std::size_t messages_for(std::size_t bytes) {
  return is_small(bytes) ? 1 : 1 + (bytes + MpiLane::kPieceBytes - 1) / MpiLane::kPieceBytes;
}

// Where in the payload message `message` (> 0) lies.
std::size_t piece_offset(std::size_t message) { return (message - 1) * MpiLane::kPieceBytes; }

std::size_t piece_size(std::size_t bytes, std::size_t message) {
  return std::min(MpiLane::kPieceBytes, bytes - piece_offset(message));
}

}  // namespace

struct MpiLane::Memory {
  alignas(64) std::array<std::byte, kFirstBytes> leaving;
  alignas(64) std::array<std::byte, kFirstBytes> arriving;
  std::vector<std::byte> pieces;  // For a sink: kWindow of them.
};

MpiLane::MpiLane(MpiPlugin& mpi, Rank peer, int tag, std::uint64_t job)
    : mpi_(mpi),
      peer_(peer),
      tag_(tag),
      job_(static_cast<std::uint32_t>(job)),
      memory_(std::make_shared<Memory>()) {}

MpiLane::~MpiLane() {
  if (is_idle()) return;
  for (MpiRequest& request : send_requests_) mpi_.give_up(request, false);
  for (MpiRequest& request : recv_requests_) mpi_.give_up(request, true);
  mpi_.abandon(memory_);
}

void MpiLane::send(std::uint64_t serial, const Label& label, std::span<const std::byte> bytes) {
  FrameHeader header;
  header.job = job_;
  header.bytes = bytes.size();
  header.label = label;
  sends_.push({serial, header, bytes});
}

void MpiLane::recv(std::uint64_t serial, const Label& label, Incoming incoming) {
  recvs_.push({serial, label, incoming});
}

const Label* MpiLane::label_of_first(Pending::Direction direction) const {
  if (direction == Pending::Direction::send) return sends_.empty() ? nullptr : &sends_.front().header.label;
  return recvs_.empty() ? nullptr : &recvs_.front().label;
}

bool MpiLane::advance_send() {
  bool moved = false;
  while (!sends_.empty()) {
    Outgoing& out = sends_.front();
    const std::size_t messages = messages_for(out.bytes.size());
    while (out.started < std::min(messages, out.done + kWindow)) {
      start_message(out);
      moved = true;
    }
    if (!mpi_.finish(send_requests_[out.done % kWindow])) return moved;
    if (++out.done == messages) sends_.pop();
    moved = true;
  }
  return moved;
}

void MpiLane::start_message(Outgoing& out) {
  std::span<const std::byte> bytes;
  if (out.started == 0) {
    const std::size_t payload = is_small(out.bytes.size()) ? out.bytes.size() : 0;
    std::memcpy(memory_->leaving.data(), &out.header, kHeader);
    if (payload > 0) std::memcpy(memory_->leaving.data() + kHeader, out.bytes.data(), payload);
    bytes = std::span(memory_->leaving).first(kHeader + payload);
  } else {
    bytes = out.bytes.subspan(piece_offset(out.started), piece_size(out.bytes.size(), out.started));
  }
  send_requests_[out.started % kWindow] = mpi_.start_send(peer_, tag_, bytes);
  ++out.started;
}

bool MpiLane::advance_recv(const std::function<std::string(const Label&)>& text_of) {
  bool moved = false;
  while (!recvs_.empty()) {
    Expected& expected = recvs_.front();
    // Pieces are not asked for before the header has said that they come.
    const std::size_t messages = expected.done == 0 ? 1 : messages_for(expected.incoming.bytes);
    while (expected.started < std::min(messages, expected.done + kWindow)) start_message(expected);
    const auto arrived = mpi_.finish(recv_requests_[expected.done % kWindow]);
    if (!arrived) return moved;
    if (expected.done == 0) {
      take_first(expected, *arrived, text_of);
    } else {
      take_piece(expected, *arrived);
    }
    if (++expected.done == messages_for(expected.incoming.bytes)) recvs_.pop();
    moved = true;
  }
  return moved;
}

void MpiLane::start_message(Expected& expected) {
  const std::span<std::byte> into = expected.started == 0 ? std::span<std::byte>(memory_->arriving)
                                                          : place_of_piece(expected, expected.started);
  recv_requests_[expected.started % kWindow] = mpi_.start_recv(peer_, tag_, into);
  ++expected.started;
}

std::span<std::byte> MpiLane::place_of_piece(const Expected& expected, std::size_t message) {
  const Incoming& incoming = expected.incoming;
  const std::size_t size = piece_size(incoming.bytes, message);
  if (incoming.sink.take == nullptr) return {incoming.into + piece_offset(message), size};
  memory_->pieces.resize(kWindow * kPieceBytes);
  return std::span(memory_->pieces).subspan(message % kWindow * kPieceBytes, size);
}

void MpiLane::take_first(const Expected& expected, std::size_t arrived,
                         const std::function<std::string(const Label&)>& text_of) {
  if (arrived < kHeader)
    throw FrameMismatch(fmt::format("a message of {} B, too short for a frame", arrived));
  const Incoming& incoming = expected.incoming;
  const std::span<const std::byte> message = std::span(memory_->arriving).first(arrived);
  expect_frame(message.first(kHeader), job_, expected.label, incoming.bytes, text_of);
  const std::span<const std::byte> payload = message.subspan(kHeader);
  if (payload.size() != (is_small(incoming.bytes) ? incoming.bytes : 0)) {
    throw FrameMismatch(
        fmt::format("{} B behind the header of a frame of {} B", payload.size(), incoming.bytes));
  }
  if (payload.empty()) return;
  if (incoming.sink.take != nullptr) {
    incoming.sink.take(incoming.sink.context, incoming.offset, payload);
  } else {
    std::memcpy(incoming.into, payload.data(), payload.size());
  }
}

void MpiLane::take_piece(const Expected& expected, std::size_t arrived) {
  const Incoming& incoming = expected.incoming;
  const std::span<std::byte> piece = place_of_piece(expected, expected.done);
  if (arrived != piece.size()) {
    throw FrameMismatch(fmt::format("a piece of {} B where {} B were due", arrived, piece.size()));
  }
  if (incoming.sink.take != nullptr)
    incoming.sink.take(incoming.sink.context, incoming.offset + piece_offset(expected.done), piece);
}

}  // namespace hocket
