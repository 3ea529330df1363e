#include "ps/client.h"

#include <algorithm>

namespace hocket {

Client::Client(NodeId me, Outbox& out, const ClusterTiming& timing) : me_(me), out_(out), timing_(timing) {}

void Client::on_message(const NodeId& from, const Message& message, TimePoint now) {
  if (is_superseded_) return;
  if (from == kCoordinator) {
    if (const auto* view = std::get_if<View>(&message)) on_view(*view, now);
    if (const auto* done = std::get_if<HeartbeatDone>(&message)) on_beat_done(*done, now);
    return;
  }
  if (const auto* done = std::get_if<ChangeDone>(&message)) on_change_done(*done, now);
  if (const auto* done = std::get_if<PullDone>(&message)) on_pull_done(*done);
  if (const auto* wrong = std::get_if<Misdirected>(&message); wrong && wrong->epoch > view_.epoch) beat(now);
}

void Client::on_time(TimePoint now) {
  if (is_superseded_) return;
  if (now >= next_beat_) beat(now);
  if (!can_send()) return;
  for (auto& [range, changes] : changes_) changes.send_if_due(view_, incarnation_, now);
  for (auto& [range, pull] : pulls_) {
    if (!pull.is_open || !pull.resending.is_due(now)) continue;
    pull.resending.again(now);
    send_pull(pull);
  }
}

TimePoint Client::next_deadline() const {
  TimePoint deadline = next_beat_;
  if (!can_send()) return deadline;
  for (const auto& [range, changes] : changes_) deadline = std::min(deadline, changes.deadline());
  for (const auto& [range, pull] : pulls_) {
    if (pull.is_open) deadline = std::min(deadline, pull.resending.due());
  }
  return deadline;
}

const View& Client::view() const { return view_; }
int Client::ranges() const { return static_cast<int>(view_.chains.size()); }
std::int32_t Client::incarnation() const { return incarnation_; }
bool Client::is_superseded() const { return is_superseded_; }
std::int64_t Client::dropped() const { return dropped_; }

void Client::change(RangeId range, Change change, TimePoint now) {
  ChangeQueue& changes = changes_of(range);
  const bool is_first = changes.is_empty();
  changes.add(std::move(change));
  if (is_first && can_send()) changes.send(view_, incarnation_, now);
}

std::size_t Client::under_way(RangeId range) const {
  const auto at = changes_.find(range);
  return at == changes_.end() ? 0 : at->second.size();
}

void Client::pull(RangeId range, std::int64_t clock, Payload ids, std::uint64_t destination, bool with_state,
                  TimePoint now) {
  if (!started_) started_ = now;
  requests_ = std::max(requests_ + 1, nanoseconds_of(*started_));
  Pull pull{{range, 0, me_, requests_, clock, std::move(ids), with_state, destination},
            Resending(timing_.patience),
            true};
  pull.resending.start(now);
  if (can_send()) send_pull(pull);
  pulls_.insert_or_assign(range, std::move(pull));
}

std::optional<PullDone> Client::take_pull(RangeId range) {
  const auto at = pulls_.find(range);
  if (at == pulls_.end()) return std::nullopt;
  return std::exchange(at->second.answer, std::nullopt);
}

void Client::leave(TimePoint now) {
  is_leaving_ = true;
  beat(now);
}

// What is under way goes to the new heads at once: they may be the reason for the view.
void Client::on_view(const View& view, TimePoint now) {
  if (view.epoch <= view_.epoch) return;
  view_ = view;
  if (!can_send()) return;
  for (auto& [range, changes] : changes_) changes.send(view_, incarnation_, now);
  for (auto& [range, pull] : pulls_) {
    if (!pull.is_open) continue;
    pull.resending.start(now);
    send_pull(pull);
  }
}

// An answer to a beat from before this process started was meant for another.
void Client::on_beat_done(const HeartbeatDone& done, TimePoint now) {
  if (!started_ || done.sent_at < nanoseconds_of(*started_)) return;
  if (incarnation_ < 0) {
    incarnation_ = done.incarnation;
    beat(now);
  }
  is_superseded_ = done.incarnation > incarnation_;
}

void Client::on_change_done(const ChangeDone& done, TimePoint now) {
  const auto at = changes_.find(done.range);
  if (at == changes_.end() || !at->second.on_done(done, incarnation_)) return;
  if (done.was_dropped) ++dropped_;
  at->second.send(view_, incarnation_, now);
}

void Client::on_pull_done(const PullDone& done) {
  const auto at = pulls_.find(done.range);
  if (at == pulls_.end() || !at->second.is_open || done.request != at->second.request.request) return;
  at->second.is_open = false;
  at->second.answer = done;
}

void Client::beat(TimePoint now) {
  if (!started_) started_ = now;
  next_beat_ = later(now, timing_.beat);
  Heartbeat beat{me_, incarnation_, view_.epoch, nanoseconds_of(incarnation_ < 0 ? *started_ : now)};
  beat.is_leaving = is_leaving_;
  out_.send(kCoordinator, beat);
}

void Client::send_pull(Pull& pull) {
  pull.request.epoch = view_.epoch;
  if (const auto head = head_of(view_, pull.request.range)) out_.send(*head, pull.request);
}

ChangeQueue& Client::changes_of(RangeId range) {
  return changes_.try_emplace(range, range, me_, out_, timing_.patience).first->second;
}

}  // namespace hocket
