#include "net/framed_stream.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>

namespace hocket {
namespace {

// One direction: holds `capacity` bytes and moves at most `step` at a time.
struct Pipe {
  std::deque<std::byte> bytes{};
  std::size_t capacity = 1000;
  std::size_t step = 333;
  bool is_closed = false;
};

class PipeStream final : public Stream {
 public:
  PipeStream(Pipe& in, Pipe& out) : in_(in), out_(out) {}

  std::size_t write_some(std::span<const std::byte> bytes) override {
    const std::size_t count = std::min({bytes.size(), out_.step, out_.capacity - out_.bytes.size()});
    out_.bytes.insert(out_.bytes.end(), bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(count));
    return count;
  }

  std::size_t read_some(std::span<std::byte> bytes) override {
    const std::size_t count = std::min({bytes.size(), in_.step, in_.bytes.size()});
    if (count == 0 && in_.is_closed) throw StreamClosed("closed");
    const auto end = in_.bytes.begin() + static_cast<std::ptrdiff_t>(count);
    std::copy(in_.bytes.begin(), end, bytes.begin());
    in_.bytes.erase(in_.bytes.begin(), end);
    return count;
  }

  int fd() const override { return -1; }

 private:
  Pipe& in_;
  Pipe& out_;
};

struct FramedEnds {
  Pipe there{}, back{};
  FramedStream sender{std::make_unique<PipeStream>(back, there)};
  FramedStream receiver{std::make_unique<PipeStream>(there, back)};

  std::vector<std::vector<std::byte>> receive_all() {
    std::vector<std::vector<std::byte>> received;
    while (true) {
      sender.progress();
      const std::size_t before = there.bytes.size();
      receiver.progress();
      while (auto message = receiver.receive()) received.push_back(std::move(*message));
      if (before == 0 && sender.queued_bytes() == 0) return received;
    }
  }
};

std::vector<std::byte> message_of(std::size_t size) {
  std::vector<std::byte> message(size);
  for (std::size_t i = 0; i < size; ++i) message[i] = static_cast<std::byte>(i * 31 + size);
  return message;
}

TEST(FramedStream, MessagesOfAnySizeArriveWholeAndInOrder) {
  FramedEnds ends;
  std::vector<std::vector<std::byte>> sent;
  for (const std::size_t size : {0, 1, 500, 70'000, 3, 300'000, 65'536, 65'537, 0, 1'000'000}) {
    sent.push_back(message_of(size));
    ends.sender.send(sent.back());
  }
  EXPECT_EQ(ends.receive_all(), sent);
}

TEST(FramedStream, ALongMessageThatGoesAtOnceIsNotQueued) {
  FramedEnds ends;
  ends.there.capacity = ends.there.step = 1 << 20;
  ends.sender.send(message_of(500'000));
  EXPECT_EQ(ends.sender.queued_bytes(), 0U);
  EXPECT_EQ(ends.receive_all(), (std::vector<std::vector<std::byte>>{message_of(500'000)}));
}

TEST(FramedStream, WhatCameBeforeTheEndIsReceivedFirst) {
  FramedEnds ends;
  ends.sender.send(message_of(100));
  ends.there.is_closed = true;
  ends.receiver.progress();
  EXPECT_EQ(ends.receiver.receive(), message_of(100));
  EXPECT_THROW(ends.receiver.progress(), StreamClosed);
}

TEST(FramedStream, ALengthAboveTheLimitClosesTheStream) {
  FramedEnds ends;
  FramedStream receiver(std::make_unique<PipeStream>(ends.there, ends.back), 99);
  ends.sender.send(message_of(100));
  receiver.progress();
  EXPECT_THROW(receiver.receive(), StreamClosed);
}

}  // namespace
}  // namespace hocket
