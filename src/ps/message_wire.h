#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "ps/known_ids.h"
#include "ps/message.h"

namespace hocket {

// What nodes say to each other on a connection besides messages: who calls, where it listens and what memory
// it shares with servers of its host, and, from the coordinator, who listens where.
struct Introduction {
  std::uint16_t port = 0;  // 0: it does not listen.
  std::string host_id;
  std::int32_t pid = 0;
  std::int32_t memory_fd = -1;
  std::uint64_t memory_bytes = 0;
};
struct Address {
  NodeId node;
  std::string address;
  std::uint16_t port = 0;
};
struct Directory {
  std::vector<Address> addresses;
};
// A message over links that are emulated: when it was posted and when they have carried it, in seconds.
struct Delayed {
  double posted = 0;
  double carried = 0;
  std::uint64_t bytes = 0;
  Message message;
};
using NodeFrame = std::variant<Message, Introduction, Directory, Delayed>;

// Where bytes of the sender's memory lie, as the receiver, which has mapped it, can find them; nothing where
// they must travel themselves.
using PlaceOf = std::function<std::optional<std::uint64_t>(std::span<const std::byte> bytes)>;

// Of ids that both ends of the connection know by `sent`, only the number travels.
std::vector<std::byte> encode(const NodeFrame& frame, const PlaceOf& place_of = {}, KnownIds* sent = nullptr);

// The frame in `bytes`, which its payloads keep alive, or `memory`, the sender's, for those that lie there.
// Throws NetError for bytes that no encode() has made, for places outside the memory and ids nobody sent.
NodeFrame decode_frame(const std::shared_ptr<const std::vector<std::byte>>& bytes, const Payload& memory = {},
                       KnownIds* heard = nullptr);

}  // namespace hocket
