#pragma once

#include <bit>
#include <vector>

#include "base/error.h"
#include "net/wire.h"
#include "ps/message_wire.h"

// How replicas and the coordinator write down what they know. Readers trust nothing: see WireReader.
namespace hocket {

inline void put_real(WireWriter& out, double value) { out.put(std::bit_cast<std::uint64_t>(value)); }
inline double get_real(WireReader& in) { return std::bit_cast<double>(in.get<std::uint64_t>()); }

inline void put_block(WireWriter& out, std::span<const std::byte> bytes) {
  out.put(static_cast<std::uint64_t>(bytes.size()));
  out.put_bytes(bytes);
}
inline std::span<const std::byte> get_block(WireReader& in) {
  return in.get_bytes(static_cast<std::size_t>(in.get<std::uint64_t>()));
}

inline void put_message(WireWriter& out, const Message& message) { put_block(out, encode(message)); }
template <typename T>
T get_message(WireReader& in) {
  const auto block = get_block(in);
  const NodeFrame frame =
      decode_frame(std::make_shared<const std::vector<std::byte>>(block.begin(), block.end()));
  const auto* message = std::get_if<Message>(&frame);
  if (message == nullptr || !std::holds_alternative<T>(*message))
    throw NetError("another message was expected");
  return std::get<T>(*message);
}

inline void put_node(WireWriter& out, const NodeId& node) {
  out.put(static_cast<std::uint8_t>(node.kind));
  out.put(static_cast<std::int32_t>(node.index));
}
inline NodeId get_node(WireReader& in) {
  const auto kind = static_cast<NodeKind>(in.get<std::uint8_t>() & 3);
  return {kind, in.get<std::int32_t>()};
}

inline void put_sequence(WireWriter& out, const Sequence& sequence) {
  out.put(sequence.incarnation);
  out.put(sequence.number);
}
inline Sequence get_sequence(WireReader& in) {
  const auto incarnation = in.get<std::int32_t>();
  return {incarnation, in.get<std::int64_t>()};
}

}  // namespace hocket
