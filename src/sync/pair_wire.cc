#include "sync/pair_wire.h"

#include <bit>

#include "base/error.h"

namespace hocket {
namespace {

constexpr std::uint64_t kPairs = 0x7061697273;  // So that no other message passes for one.
constexpr Label kNotice{{kPairs, 0, 0, 0}};
Label values_label(std::size_t bytes) { return {{kPairs, 1, 0, bytes}}; }

std::string gossip_text(const Label& label) {
  if (label.words[0] != kPairs) return "a message that is not gossip";
  if (label.words[1] == 0) return "gossip, a notice";
  return fmt::format("gossip, parameters of {} bytes", label.words[3]);
}

}  // namespace

PairWire::PairWire(Transport& transport, std::size_t bytes)
    : transport_(transport),
      values_(bytes),
      in_(static_cast<std::size_t>(transport.size())),
      out_(in_.size() * PairNotice::kWords) {
  transport_.set_label_text(gossip_text);
  for (int peer = 0; peer < transport_.size(); ++peer) {
    if (peer != transport_.rank()) listen_to(peer);
  }
}

PairWire::Out& PairWire::out(int to, PairNotice::Word word) {
  return out_[static_cast<std::size_t>(to) * PairNotice::kWords + static_cast<std::size_t>(word)];
}

bool PairWire::has_left(int to, PairNotice::Word word) const {
  const Out& last = const_cast<PairWire*>(this)->out(to, word);
  return !last.is_used || transport_.is_done(last.pending);
}

void PairWire::send(int to, const PairNotice& notice) {
  HOCKET_CHECK(has_left(to, notice.word), "a notice to rank {} overtakes another", to);
  Out& slot = out(to, notice.word);
  slot.words = words_of(notice);
  slot.pending = transport_.send(to, kNotice, std::as_bytes(std::span(slot.words)));
  slot.is_used = true;
}

void PairWire::send(int to, const PairNotice& notice, std::span<const std::byte> values) {
  HOCKET_CHECK(!is_sending_values_ && values.size() == values_.size(), "values to rank {} cannot leave", to);
  send(to, notice);
  values_pending_ = transport_.send(to, values_label(values.size()), values);
  is_sending_values_ = true;
}

bool PairWire::advance(Listener& listener) {
  bool moved = transport_.progress();
  if (transport_.health().failed())
    throw NetError("rank {}: gossip failed: {}", transport_.rank_in_job(transport_.rank()),
                   transport_.health().failure().what);
  if (is_sending_values_ && transport_.is_done(values_pending_)) {
    is_sending_values_ = false;
    moved = true;
    listener.on_values_sent();
  }
  for (int peer = 0; peer < transport_.size(); ++peer) {
    if (peer != transport_.rank()) moved |= take_from(peer, listener);
  }
  return moved;
}

void PairWire::listen_to(int from) {
  In& in = in_[static_cast<std::size_t>(from)];
  in.awaits_values = false;
  in.pending = transport_.recv(from, kNotice, std::as_writable_bytes(std::span(in.words)));
}

bool PairWire::take_from(int from, Listener& listener) {
  In& in = in_[static_cast<std::size_t>(from)];
  if (!transport_.is_done(in.pending)) return false;
  if (!in.awaits_values) {
    in.notice = read(from, in.words);
    if (in.notice.has_values() && !listener.expects_values(from, in.notice.word))
      throw NetError("rank {}: parameters from rank {} that nobody waits for",
                     transport_.rank_in_job(transport_.rank()), transport_.rank_in_job(from));
    if (in.notice.has_values()) {
      in.awaits_values = true;
      in.pending = transport_.recv(from, values_label(values_.size()), values_);
      return true;
    }
  }
  const PairNotice notice = in.notice;
  listen_to(from);
  listener.on_notice(from, notice);
  return true;
}

PairWire::Words PairWire::words_of(const PairNotice& notice) {
  return {static_cast<std::uint64_t>(notice.word) | static_cast<std::uint64_t>(notice.wants_to_stop) << 8,
          static_cast<std::uint64_t>(notice.steps), static_cast<std::uint64_t>(notice.samples),
          std::bit_cast<std::uint64_t>(notice.loss)};
}

PairNotice PairWire::read(int from, const Words& words) const {
  const std::uint64_t word = words[0] & 0xff;
  if (word >= PairNotice::kWords || words[0] >> 9 != 0)
    throw NetError("rank {}: a notice from rank {} is malformed ({:x})",
                   transport_.rank_in_job(transport_.rank()), transport_.rank_in_job(from), words[0]);
  return {static_cast<PairNotice::Word>(word), words[0] >> 8 != 0, static_cast<std::int64_t>(words[1]),
          static_cast<std::int64_t>(words[2]), std::bit_cast<double>(words[3])};
}

}  // namespace hocket
