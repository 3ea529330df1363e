#include "jobs/job_message.h"

#include <bit>

#include "base/error.h"
#include "net/wire.h"

namespace hocket {
namespace {

constexpr std::uint32_t kMostItems = 1 << 20;

void put(WireWriter& out, const JobAttempt& which) {
  out.put(which.job);
  out.put(static_cast<std::int32_t>(which.attempt));
}
void put(WireWriter& out, const AttemptEnded& ended) {
  put(out, ended.which);
  out.put(static_cast<std::int32_t>(ended.exit_code));
  out.put(static_cast<std::int32_t>(ended.signal));
  out.put_text(ended.error);
  out.put_text(ended.last_line);
}
void put(WireWriter& out, const AgentArrives& arrives) {
  out.put_text(arrives.name);
  out.put(static_cast<std::int32_t>(arrives.slots));
  out.put(arrives.memory_bytes);
  out.put(static_cast<std::int32_t>(arrives.rack));
  out.put(static_cast<std::uint32_t>(arrives.running.size()));
  for (const JobAttempt& which : arrives.running) put(out, which);
  out.put(static_cast<std::uint32_t>(arrives.ended.size()));
  for (const AttemptEnded& ended : arrives.ended) put(out, ended);
}
void put(WireWriter& out, const StartAttempt& start) {
  put(out, start.which);
  out.put(static_cast<std::int32_t>(start.workers));
  out.put_text(start.folder);
  out.put_text(start.home);
  out.put(static_cast<std::uint32_t>(start.words.size()));
  for (const std::string& word : start.words) out.put_text(word);
  out.put(static_cast<std::uint32_t>(start.parts.size()));
  for (const AttemptPart& part : start.parts) {
    out.put_text(part.machine);
    out.put(static_cast<std::int32_t>(part.workers));
  }
  out.put(static_cast<std::int32_t>(start.part));
}
void put(WireWriter& out, const StopAttempt& stop) { put(out, stop.which); }
void put(WireWriter& out, const ForgetAttempt& forget) { put(out, forget.which); }
void put(WireWriter& /*out*/, const AgentBeat& /*beat*/) {}
void put(WireWriter& out, const AttemptRate& rate) {
  put(out, rate.which);
  out.put(std::bit_cast<std::uint64_t>(rate.samples_per_second));
}

JobAttempt attempt_from(WireReader& in) {
  JobAttempt which;
  which.job = in.get<JobId>();
  which.attempt = in.get<std::int32_t>();
  return which;
}

AttemptEnded ended_from(WireReader& in) {
  AttemptEnded ended;
  ended.which = attempt_from(in);
  ended.exit_code = in.get<std::int32_t>();
  ended.signal = in.get<std::int32_t>();
  ended.error = in.get_text();
  ended.last_line = in.get_text();
  return ended;
}

// Items one by one while there are bytes: a count alone makes no room.
template <typename Read>
auto list_from(WireReader& in, Read read) {
  std::vector<decltype(read(in))> items;
  const auto count = in.get<std::uint32_t>();
  for (std::uint32_t i = 0; i < count && i < kMostItems && in.is_good(); ++i) items.push_back(read(in));
  return items;
}

AgentArrives arrival_from(WireReader& in) {
  AgentArrives arrives;
  arrives.name = in.get_text();
  arrives.slots = in.get<std::int32_t>();
  arrives.memory_bytes = in.get<std::int64_t>();
  arrives.rack = in.get<std::int32_t>();
  arrives.running = list_from(in, attempt_from);
  arrives.ended = list_from(in, ended_from);
  return arrives;
}

StartAttempt start_from(WireReader& in) {
  StartAttempt start;
  start.which = attempt_from(in);
  start.workers = in.get<std::int32_t>();
  start.folder = in.get_text();
  start.home = in.get_text();
  start.words = list_from(in, [](WireReader& from) { return from.get_text(); });
  start.parts = list_from(in, [](WireReader& from) {
    AttemptPart part;
    part.machine = from.get_text();
    part.workers = from.get<std::int32_t>();
    return part;
  });
  start.part = in.get<std::int32_t>();
  if (!start.parts.empty() && (start.part < 0 || start.part >= static_cast<int>(start.parts.size())))
    throw NetError("jobs: an attempt without part {}", start.part);
  return start;
}

AttemptRate rate_from(WireReader& in) {
  AttemptRate rate;
  rate.which = attempt_from(in);
  rate.samples_per_second = std::bit_cast<double>(in.get<std::uint64_t>());
  return rate;
}

JobMessage body_from(std::uint8_t kind, WireReader& in) {
  switch (kind) {
    case 0: return arrival_from(in);
    case 1: return start_from(in);
    case 2: return StopAttempt{attempt_from(in)};
    case 3: return ended_from(in);
    case 4: return ForgetAttempt{attempt_from(in)};
    case 5: return AgentBeat{};
    case 6: return rate_from(in);
    default: throw NetError("jobs: a message of the unknown kind {}", kind);
  }
}

}  // namespace

std::vector<std::byte> encode(const JobMessage& message) {
  WireWriter out;
  out.put(static_cast<std::uint8_t>(message.index()));
  std::visit([&](const auto& body) { put(out, body); }, message);
  return out.take();
}

JobMessage decode_job_message(std::span<const std::byte> bytes) {
  WireReader in(bytes);
  const auto kind = in.get<std::uint8_t>();
  JobMessage message = body_from(kind, in);
  if (!in.is_good() || !in.is_at_end()) throw NetError("jobs: a torn message of kind {}", kind);
  return message;
}

}  // namespace hocket
