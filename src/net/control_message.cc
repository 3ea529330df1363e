#include "net/control_message.h"

#include "base/error.h"
#include "net/wire.h"

namespace hocket {
namespace {

constexpr std::size_t kMaxText = 4096;
constexpr std::size_t kLeastMemberBytes = 4 + 4 + 2 + 4 + 4;

void put(WireWriter& out, const Member& member) {
  out.put_text(member.host);
  out.put_text(member.address);
  out.put(member.port);
  out.put_text(member.host_id);
  out.put(member.pid);
}

Member get_member(WireReader& in) {
  Member member;
  member.host = in.get_text();
  member.address = in.get_text();
  member.port = in.get<std::uint16_t>();
  member.host_id = in.get_text();
  member.pid = in.get<std::int32_t>();
  return member;
}

void put_body(WireWriter& out, const Join& join) {
  out.put(join.world_size);
  put(out, join.member);
}
void put_body(WireWriter& out, const Welcome& welcome) {
  out.put(static_cast<std::uint32_t>(welcome.members.size()));
  for (const Member& member : welcome.members) put(out, member);
  put(out, welcome.coordinator);
}
void put_body(WireWriter& out, const Rejected& rejected) { out.put_text(rejected.why.substr(0, kMaxText)); }
void put_body(WireWriter&, const Beat&) {}
void put_body(WireWriter&, const Goodbye&) {}
void put_body(WireWriter& out, const Failed& failed) {
  out.put(static_cast<std::int32_t>(failed.failure.culprit));
  out.put_text(failed.failure.what.substr(0, kMaxText));
}

Welcome get_welcome(WireReader& in, std::size_t bytes) {
  const auto count = in.get<std::uint32_t>();
  if (count > bytes / kLeastMemberBytes)
    throw NetError("a control message announces {} members in {} bytes", count, bytes);
  Welcome welcome;
  for (std::uint32_t i = 0; i < count; ++i) welcome.members.push_back(get_member(in));
  welcome.coordinator = get_member(in);
  return welcome;
}

ControlMessage get_message(std::uint8_t kind, WireReader& in, std::size_t bytes) {
  switch (kind) {
    case 0: {
      Join join;
      join.world_size = in.get<std::int32_t>();
      join.member = get_member(in);
      return join;
    }
    case 1: return get_welcome(in, bytes);
    case 2: return Rejected{in.get_text()};
    case 3: return Beat{};
    case 4: return Goodbye{};
    case 5: {
      const auto culprit = in.get<std::int32_t>();
      return Failed{{culprit, in.get_text()}};
    }
    default: throw NetError("unknown control message of kind {}", kind);
  }
}

}  // namespace

std::vector<std::byte> encode(const ControlMessage& message) {
  WireWriter out;
  out.put(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& body) { put_body(out, body); }, message);
  return out.take();
}

ControlMessage decode(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  const auto kind = in.get<std::uint8_t>();
  ControlMessage message = get_message(kind, in, bytes.size());
  if (!in.is_good() || !in.is_at_end())
    throw NetError("a control message of kind {} has the wrong length", kind);
  return message;
}

}  // namespace hocket
