// Chain replication (van Renesse and Schneider, OSDI 2004), but that the head answers reads, so that it makes
// a change only when the tail's word for it has come back.
//
// Invariant: what a replica has received is a prefix of what the one before it has received, and at least
// what any replica has made. So whoever becomes the head has all that was read or acknowledged, and what it
// has beyond that is passed on again and made; a client that sends such a change again finds it known.
#include "ps/range_replica.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

constexpr std::int64_t kMostEarly = 256;

}  // namespace
RangeReplica::RangeReplica(RangeId range, int server, const ReplicaOptions& options, Outbox& out,
                           const ClusterTiming& timing)
    : range_(range),
      server_(server),
      options_(options),
      out_(out),
      state_(options),
      silence_(timing.silence()),
      entries_resending_(timing.forward_patience),
      snapshot_resending_(timing.snapshot_patience),
      copying_(timing.keep) {}

void RangeReplica::on_view(const View& view, TimePoint now) {
  if (view.epoch <= epoch_) return;
  const std::int64_t known = std::exchange(epoch_, view.epoch);
  const View::Chain& chain = view.chains[static_cast<std::size_t>(range_)];
  const auto at = std::find(chain.servers.begin(), chain.servers.end(), server_);
  const int position = at == chain.servers.end() ? -1 : static_cast<int>(at - chain.servers.begin());
  const bool joins = chain.joining == server_;
  if (joins && joined_ != chain.joined) start_anew(chain.joined);

  const bool was_head = std::exchange(is_head_, position == 0);
  if (is_head_ && !was_head && chain.handed_over > known) serves_from_ = later(now, silence_);
  previous_.reset();
  if (position > 0) previous_ = server_node(*(at - 1));
  if (joins && !chain.servers.empty()) previous_ = server_node(chain.servers.back());
  if (!is_head_) {
    waiting_.clear();
    answered_.clear();
  }
  reported_ = -1;
  early_.clear();
  set_next(chain, position, now);
  if (position >= 0 || joins) proceed(now);
}

void RangeReplica::on_message(const NodeId& from, const Message& message, TimePoint now) {
  if (const auto* change = std::get_if<ChangeRequest>(&message)) on_change(from, *change, now);
  if (const auto* pull = std::get_if<PullRequest>(&message)) on_pull(from, *pull, now);
  if (const auto* status = std::get_if<StatusRequest>(&message)) on_status(from, *status, now);
  if (const auto* forward = std::get_if<Forward>(&message)) on_forward(from, *forward, now);
  if (const auto* done = std::get_if<ForwardDone>(&message)) on_forward_done(from, *done, now);
  if (const auto* snapshot = std::get_if<Snapshot>(&message)) on_snapshot(from, *snapshot, now);
}

void RangeReplica::on_time(TimePoint now) {
  if (next_) send_again(now);
  if (may_serve(now) && copying_.is_due(now)) copy_kept(now);
  proceed(now);
}

bool RangeReplica::has_caught_up() const {
  return next_ && next_->joins && next_->has_snapshot && next_->done >= committed_;
}

void RangeReplica::on_change(const NodeId& from, const ChangeRequest& request, TimePoint now) {
  if (!is_head_) {
    out_.send(from, Misdirected{range_, epoch_});
    return;
  }
  if (!may_serve(now) || request.epoch > epoch_ || from != request.client) return;
  if (const auto made = state_.find_made(request.client, request.sequence)) {
    out_.send(from, ChangeDone{range_, made->sequence, made->was_dropped});
    return;
  }
  const Sequence last = last_of(request.client);
  const bool is_new_process = request.sequence.incarnation > last.incarnation && request.sequence.number == 1;
  const bool is_next =
      request.sequence.incarnation == last.incarnation && request.sequence.number == last.number + 1;
  if (is_new_process || is_next) append(request, now);
  proceed(now);
}

void RangeReplica::on_pull(const NodeId& from, const PullRequest& pull, TimePoint now) {
  if (!is_head_) {
    out_.send(from, Misdirected{range_, epoch_});
    return;
  }
  if (!may_serve(now) || pull.epoch > epoch_ || from != pull.client) return;
  const auto answered = answered_.find(pull.client);
  if (answered != answered_.end() && pull.request <= answered->second.request) {
    if (pull.request < answered->second.request) return;
    if (pull.destination != 0) {  // The values are there, and perhaps in use.
      const Answer& earlier = answered->second;
      out_.send(from, PullDone{range_, earlier.request, earlier.progress, {}, {}, pull.destination});
      return;
    }
  }
  const auto at = waiting_.find(pull.client);
  if (at != waiting_.end() && at->second.request > pull.request) return;
  waiting_[pull.client] = pull;
  proceed(now);
}

void RangeReplica::on_status(const NodeId& from, const StatusRequest& /*request*/, TimePoint now) {
  if (!is_head_) {
    out_.send(from, Misdirected{range_, epoch_});
  } else if (may_serve(now)) {
    out_.send(from, state_.status(range_));
  }
}

void RangeReplica::on_forward(const NodeId& from, const Forward& forward, TimePoint now) {
  if (forward.epoch != epoch_ || previous_ != from || waits_for_snapshot_) return;
  if (forward.index <= committed_) reported_ = -1;  // The word for it was lost.
  if (forward.index > received_ && forward.index <= received_ + kMostEarly)
    early_.try_emplace(forward.index, forward.request);
  for (auto next = early_.find(received_ + 1); next != early_.end(); next = early_.find(received_ + 1)) {
    append(next->second, now);
    early_.erase(next);
  }
  proceed(now);
}

void RangeReplica::on_forward_done(const NodeId& from, const ForwardDone& done, TimePoint now) {
  if (done.epoch != epoch_ || !next_ || next_->node != from) return;
  if (!next_->has_snapshot && done.index < next_->snapshot) return;
  next_->has_snapshot = true;
  entries_resending_.start(now);
  next_->done = std::max(next_->done, std::min(done.index, received_));
  proceed(now);
}

void RangeReplica::on_snapshot(const NodeId& from, const Snapshot& snapshot, TimePoint now) {
  if (snapshot.epoch != epoch_ || previous_ != from || joined_ == 0) return;
  if (waits_for_snapshot_ || snapshot.index > received_) {
    start_anew(joined_);
    try {
      state_.restore(snapshot.state.bytes);
    } catch (const Error&) {
      start_anew(joined_);
      return;
    }
    received_ = committed_ = made_ = snapshot.index;
    waits_for_snapshot_ = false;
  }
  reported_ = -1;
  proceed(now);
}

void RangeReplica::start_anew(std::int64_t joined) {
  state_ = RangeState(options_);
  log_.clear();
  early_.clear();
  received_ = committed_ = made_ = reported_ = 0;
  joined_ = joined;
  waits_for_snapshot_ = true;
}

void RangeReplica::set_next(const View::Chain& chain, int position, TimePoint now) {
  const std::optional<Next> before = std::exchange(next_, std::nullopt);
  if (position < 0) return;
  if (position + 1 < static_cast<int>(chain.servers.size())) {
    next_ = Next{server_node(chain.servers[static_cast<std::size_t>(position) + 1])};
    next_->done = committed_;
  } else if (chain.joining >= 0) {
    const NodeId node = server_node(chain.joining);
    const bool goes_on = before && before->joins && before->node == node && before->joined == chain.joined;
    if (goes_on && before->has_snapshot) {
      next_ = before;
    } else {
      next_ = Next{node, true, chain.joined, false};
      keep_entries();
      snapshot_resending_.start(now);
      send_snapshot();
    }
  }
  if (!next_) return;
  entries_resending_.start(now);
  send_entries();
}

void RangeReplica::append(const ChangeRequest& request, TimePoint now) {
  log_.push_back({++received_, request});
  if (!next_) return;
  if (!next_->has_snapshot) keep_entries();
  if (received_ == next_->done + 1) entries_resending_.start(now);
  out_.send(next_->node, Forward{range_, epoch_, received_, request});
}

void RangeReplica::send_again(TimePoint now) {
  if (!next_->has_snapshot && snapshot_resending_.is_due(now)) {
    snapshot_resending_.again(now);
    send_snapshot();
  }
  if (!entries_resending_.is_due(now)) return;
  entries_resending_.again(now);
  send_entries();
}

void RangeReplica::send_entries() {
  for (const Entry& entry : log_) {
    if (entry.index > next_->done)
      out_.send(next_->node, Forward{range_, epoch_, entry.index, entry.request});
  }
}

void RangeReplica::send_snapshot() {
  const std::vector<std::byte> bytes = state_.save();
  next_->snapshot = next_->done = made_;
  out_.send(next_->node, Snapshot{range_, epoch_, made_, {bytes, nullptr}});
}

void RangeReplica::proceed(TimePoint now) {
  if (waits_for_snapshot_) return;
  const std::int64_t behind = next_ && next_->has_snapshot ? next_->done : received_;
  committed_ = std::max(committed_, behind);
  if (!is_head_ || may_serve(now)) make_committed();
  if (may_serve(now)) answer_pulls();
  forget_entries();
  if (previous_ && reported_ < committed_) {
    reported_ = committed_;
    out_.send(*previous_, ForwardDone{range_, epoch_, committed_});
  }
}

void RangeReplica::make_committed() {
  while (made_ < committed_) {
    const ChangeRequest& request = entry(made_ + 1).request;
    ++made_;
    if (const auto* lost = std::get_if<WorkerLost>(&request.change))
      waiting_.erase(worker_node(lost->worker));
    const std::vector<RangeState::Made> done = state_.make(request);
    if (is_head_) acknowledge(done);
  }
}

// Ranges may be out of step after a worker was lost: two workers then wait each for what the other would do
// if its gradient in another range were acknowledged.
void RangeReplica::copy_kept(TimePoint now) {
  acknowledge(state_.copy_kept(kept_before_));
  kept_before_ = state_.last_serial();
  copying_.start(now);
}

void RangeReplica::acknowledge(const std::vector<RangeState::Made>& made) {
  for (const RangeState::Made& one : made)
    out_.send(one.client, ChangeDone{range_, one.sequence, one.was_dropped});
}

// A client that pushed before it pulls reads what it pushed.
void RangeReplica::answer_pulls() {
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    if (!has_pending(at->first) && state_.may_read(at->second)) {
      answer(at->second);
      at = waiting_.erase(at);
    } else {
      ++at;
    }
  }
}

void RangeReplica::answer(const PullRequest& pull) {
  const PullDone done = state_.read(pull);
  answered_[pull.client] = {pull.request, done.progress};
  out_.send(pull.client, done);
}

void RangeReplica::forget_entries() {
  const std::int64_t needless = next_ ? std::min(made_, next_->done) : made_;
  while (!log_.empty() && log_.front().index <= needless) log_.pop_front();
}

// What is made and acknowledged without the server that joins must outlive the acknowledgement for it.
void RangeReplica::keep_entries() {
  for (Entry& entry : log_) {
    if (auto* push = std::get_if<Push>(&entry.request.change)) {
      push->ids.keep();
      push->values.keep();
    }
    if (auto* init = std::get_if<Init>(&entry.request.change)) {
      init->values.keep();
      init->state.keep();
    }
  }
}

Sequence RangeReplica::last_of(const NodeId& client) const {
  for (auto entry = log_.rbegin(); entry != log_.rend(); ++entry) {
    if (entry->request.client == client) return entry->request.sequence;
  }
  return state_.last_of(client);
}

bool RangeReplica::has_pending(const NodeId& client) const {
  return std::any_of(log_.begin(), log_.end(), [&](const Entry& entry) {
    return entry.index > made_ && entry.request.client == client;
  });
}

}  // namespace hocket
