#include "cli/launch/agent_message.h"

#include "base/error.h"
#include "net/wire.h"

namespace hocket {
namespace {

void put_texts(WireWriter& out, const std::vector<std::string>& texts) {
  out.put(static_cast<std::uint32_t>(texts.size()));
  for (const std::string& text : texts) out.put_text(text);
}

std::vector<std::string> get_texts(WireReader& in) {
  std::vector<std::string> texts;
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.is_good(); --count)
    texts.push_back(in.get_text());
  return texts;
}

void put(WireWriter& out, const StartRanks& start) {
  const RankCommand& command = start.command;
  put_texts(out, command.words);
  put_texts(out, command.environment);
  out.put_text(command.folder);
  out.put(command.world_size);
  out.put_text(command.coordinator.address);
  out.put(command.coordinator.port);
  out.put(command.master_port);
  out.put(static_cast<std::uint8_t>(command.plaintext ? 1 : 0));
  out.put(static_cast<std::uint32_t>(start.ranks.size()));
  for (const Rank rank : start.ranks) out.put(rank);
}
void put(WireWriter& out, const SignalRanks& signal) { out.put(signal.number); }
void put(WireWriter& out, const RankStarted& started) {
  out.put(started.rank);
  out.put(started.pid);
  out.put_text(started.host);
}
void put(WireWriter& out, const RankWrote& wrote) {
  out.put(wrote.rank);
  out.put(static_cast<std::uint8_t>(wrote.kind));
  out.put_text(wrote.bytes);
}
void put(WireWriter& out, const RankEnded& ended) {
  out.put(ended.rank);
  out.put(ended.status);
}
void put(WireWriter& out, const CannotStart& cannot) { out.put_text(cannot.why); }
void put(WireWriter&, const StillHere&) {}

void get(WireReader& in, StartRanks& start) {
  RankCommand& command = start.command;
  command.words = get_texts(in);
  command.environment = get_texts(in);
  command.folder = in.get_text();
  command.world_size = in.get<int>();
  command.coordinator.address = in.get_text();
  command.coordinator.port = in.get<std::uint16_t>();
  command.master_port = in.get<std::uint16_t>();
  command.plaintext = in.get<std::uint8_t>() != 0;
  command.pipes_output = true;
  for (auto count = in.get<std::uint32_t>(); count > 0 && in.is_good(); --count)
    start.ranks.push_back(in.get<Rank>());
}
void get(WireReader& in, SignalRanks& signal) { signal.number = in.get<int>(); }
void get(WireReader& in, RankStarted& started) {
  started.rank = in.get<Rank>();
  started.pid = in.get<int>();
  started.host = in.get_text();
}
void get(WireReader& in, RankWrote& wrote) {
  wrote.rank = in.get<Rank>();
  wrote.kind = in.get<std::uint8_t>() == 1 ? OutputKind::out : OutputKind::err;
  wrote.bytes = in.get_text();
}
void get(WireReader& in, RankEnded& ended) {
  ended.rank = in.get<Rank>();
  ended.status = in.get<int>();
}
void get(WireReader& in, CannotStart& cannot) { cannot.why = in.get_text(); }
void get(WireReader&, StillHere&) {}

template <std::size_t Kind = 0>
AgentMessage get_kind(std::size_t kind, WireReader& in) {
  if constexpr (Kind < std::variant_size_v<AgentMessage>) {
    if (kind != Kind) return get_kind<Kind + 1>(kind, in);
    std::variant_alternative_t<Kind, AgentMessage> body;
    get(in, body);
    return body;
  } else {
    throw NetError("unknown agent message of kind {}", kind);
  }
}

}  // namespace

std::vector<std::byte> encode(const AgentMessage& message) {
  WireWriter out;
  out.put(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& body) { put(out, body); }, message);
  return out.take();
}

AgentMessage decode_agent(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  AgentMessage message = get_kind(in.get<std::uint8_t>(), in);
  if (!in.is_good() || !in.is_at_end()) throw NetError("an agent message has the wrong length");
  return message;
}

}  // namespace hocket
