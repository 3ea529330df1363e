#include "ps/message_wire.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"

namespace hocket {
namespace {

std::shared_ptr<const std::vector<std::byte>> shared(std::vector<std::byte> bytes) {
  return std::make_shared<const std::vector<std::byte>>(std::move(bytes));
}

template <typename T>
Payload payload_of(const std::vector<T>& values) {
  return Payload::copy_of(std::as_bytes(std::span(values)));
}

ChangeRequest a_push() {
  Push push;
  push.slice = 2;
  push.clock = 41;
  push.version = 40;
  push.ids = payload_of(std::vector<std::uint64_t>{7, 1ULL << 60});
  push.values = payload_of(std::vector<float>{1.5F, -2.0F});
  push.loss = 0.125;
  push.samples = 32;
  return {3, 5, worker_node(2), {1, 9}, push};
}

std::vector<NodeFrame> one_of_each() {
  Init init;
  init.spec.optimizer.rule = "momentum";
  init.spec.segments = {{0, 4, 1e-4, false}, {4, 2, 0, true}};
  init.values = payload_of(std::vector<double>{1, 2, 3});
  View view;
  view.epoch = 8;
  view.chains = {{{0, 1}, 2, 7}, {{1}, -1}};
  view.servers = {0, 3, 1};
  view.slices = {0, 0};
  view.incarnations = {4, -1};
  RangeStatus status{1, {3, 0.75, 96, 12.5}, {{3, 1, {2, 1}, 0.5, 0.25}}};
  return {Message(ChangeRequest{0, 1, kRecorder, {1, 1}, init}),
          Message(a_push()),
          Message(ChangeRequest{0, 1, kCoordinator, {1, 2}, WorkerLost{3}}),
          Message(ChangeDone{1, {2, 3}, true}),
          Message(PullRequest{1, 2, worker_node(0), 3, 4, {}, true, 65}),
          Message(PullDone{1, 3, {4, 4, 128, 3.5}, payload_of(std::vector<float>{1, 2}), {}, 0}),
          Message(StatusRequest{0, kRecorder}),
          Message(status),
          Message(Misdirected{1, 2}),
          Message(Forward{1, 2, 3, a_push()}),
          Message(ForwardDone{1, 2, 3}),
          Message(Snapshot{1, 2, 3, payload_of(std::vector<int>{1, 2, 3})}),
          Message(view),
          Message(Heartbeat{server_node(1), -1, 7, 99, {0, 2}, true}),
          Message(HeartbeatDone{2, 99, 0.5}),
          Message(Stop{}),
          Message(Parcel{Payload::copy_of(std::as_bytes(std::span("words", 5)))}),
          Introduction{4711, "host", 12, 5, 1 << 20},
          Directory{{{server_node(0), "127.0.0.1", 4712}}},
          Delayed{1.5, 2.5, 4096, a_push()}};
}

TEST(MessageWire, WhatIsDecodedEncodesToTheSameBytes) {
  for (const NodeFrame& frame : one_of_each()) {
    const std::vector<std::byte> bytes = encode(frame);
    EXPECT_EQ(encode(decode_frame(shared(bytes))), bytes) << "alternative " << frame.index();
  }
}

TEST(MessageWire, PayloadsCanBeReadWhereTheyAre) {
  const NodeFrame frame = decode_frame(shared(encode(Message(a_push()))));
  const Push& push = std::get<Push>(std::get<ChangeRequest>(std::get<Message>(frame)).change);
  EXPECT_EQ(push.ids.values<std::uint64_t>()[1], 1ULL << 60);
  EXPECT_EQ(push.values.values<float>()[0], 1.5F);
  EXPECT_EQ(push.values.values<float>()[1], -2.0F);
  EXPECT_EQ(push.clock, 41);
}

TEST(MessageWire, PayloadsInSharedMemoryTravelAsTheirPlace) {
  const std::vector<float> memory(1024, 2.5F);
  const auto all = std::as_bytes(std::span(memory));
  Message message = a_push();
  std::get<Push>(std::get<ChangeRequest>(message).change).values = {all.subspan(400, 3000), nullptr};
  const auto bytes =
      shared(encode(message, [&](std::span<const std::byte> part) -> std::optional<std::uint64_t> {
        if (part.size() != 3000) return std::nullopt;
        return static_cast<std::uint64_t>(part.data() - all.data());
      }));
  EXPECT_LT(bytes->size(), 300U);
  const NodeFrame frame = decode_frame(bytes, {all, nullptr});
  const Push& push = std::get<Push>(std::get<ChangeRequest>(std::get<Message>(frame)).change);
  EXPECT_EQ(push.values.bytes.data(), all.data() + 400);
  EXPECT_EQ(push.values.bytes.size(), 3000U);
  EXPECT_TRUE(push.values.is_shared);
  EXPECT_FALSE(push.ids.is_shared);
  EXPECT_THROW(decode_frame(bytes, {all.first(3399), nullptr}), NetError);
  EXPECT_THROW(decode_frame(bytes), NetError);
}

TEST(MessageWire, IdsThatWereSentBeforeTravelAsTheirNumber) {
  std::vector<std::uint64_t> ids(1000);
  for (std::size_t i = 0; i < ids.size(); ++i) ids[i] = i * i;
  KnownIds sent, heard;
  const auto travel = [&](RangeId range) {
    const PullRequest pull{range, 2, worker_node(0), 3, 4, payload_of(ids), false, 65};
    const auto bytes = shared(encode(Message(pull), {}, &sent));
    const NodeFrame frame = decode_frame(bytes, {}, &heard);
    EXPECT_TRUE(
        std::ranges::equal(std::get<PullRequest>(std::get<Message>(frame)).ids.values<std::uint64_t>(), ids));
    return bytes;
  };
  EXPECT_GT(travel(0)->size(), 8000U);
  EXPECT_LT(travel(1)->size(), 100U);
  for (int other = 1; other <= 8; ++other) {
    ids[0] = static_cast<std::uint64_t>(other);
    EXPECT_GT(travel(0)->size(), 8000U);
  }
  ids[0] = 0;
  EXPECT_GT(travel(0)->size(), 8000U) << "forgotten, as eight others came";
  const auto known = travel(1);
  EXPECT_LT(known->size(), 100U);
  ids.clear();
  travel(0);
  KnownIds nobody;
  EXPECT_THROW(decode_frame(known, {}, &nobody), NetError);
  EXPECT_THROW(decode_frame(known), NetError);
}

TEST(MessageWire, EveryPrefixAndEveryChangedByteIsRefusedOrHarmless) {
  for (const NodeFrame& frame : one_of_each()) {
    const std::vector<std::byte> bytes = encode(frame);
    for (std::size_t size = 0; size < bytes.size(); ++size) {
      const auto prefix = shared({bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(size)});
      EXPECT_THROW(decode_frame(prefix), NetError) << "alternative " << frame.index() << ", " << size;
    }
    for (std::size_t at = 0; at < bytes.size(); ++at) {
      std::vector<std::byte> changed = bytes;
      changed[at] ^= std::byte{0xff};
      try {
        decode_frame(shared(changed));
      } catch (const NetError&) {  // As good as another message.
      }
    }
  }
}

}  // namespace
}  // namespace hocket
