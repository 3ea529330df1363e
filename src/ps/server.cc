#include "ps/server.h"

#include <algorithm>

namespace hocket {
namespace {

bool serves(const View::Chain& chain, int server) {
  return chain.joining == server ||
         std::find(chain.servers.begin(), chain.servers.end(), server) != chain.servers.end();
}

// The range that a message is about, if it is one for replicas.
std::optional<RangeId> range_of(const Message& message) {
  return std::visit(
      [](const auto& content) -> std::optional<RangeId> {
        if constexpr (requires { content.range; }) {
          return content.range;
        } else {
          return std::nullopt;
        }
      },
      message);
}

bool is_request(const Message& message) {
  return std::holds_alternative<ChangeRequest>(message) || std::holds_alternative<PullRequest>(message) ||
         std::holds_alternative<StatusRequest>(message);
}

}  // namespace

Server::Server(int server, const ReplicaOptions& options, Outbox& out, const ClusterTiming& timing)
    : server_(server), options_(options), out_(out), timing_(timing) {}

void Server::on_message(const NodeId& from, const Message& message, TimePoint now) {
  if (from == kCoordinator) {
    if (const auto* view = std::get_if<View>(&message)) on_view(*view, now);
    if (const auto* done = std::get_if<HeartbeatDone>(&message)) on_beat_done(*done, now);
  }
  if (const auto range = range_of(message)) on_request(*range, from, message, now);
}

void Server::on_time(TimePoint now) {
  if (now >= next_beat_) beat(now);
  for (auto& [range, replica] : replicas_) replica->on_time(now);
}

TimePoint Server::next_deadline() const { return next_beat_; }

bool Server::has_left() const { return is_leaving_ && view_.epoch > 0 && replicas_.empty(); }

const RangeReplica* Server::replica(RangeId range) const {
  const auto at = replicas_.find(range);
  return at == replicas_.end() ? nullptr : at->second.get();
}

// A view that means another process of this server, one before it or after it, is not for this one.
void Server::on_view(const View& view, TimePoint now) {
  const auto me = static_cast<std::size_t>(server_);
  if (view.epoch <= view_.epoch || incarnation_ < 0) return;
  if (me >= view.servers.size() || view.servers[me] != incarnation_) return;
  view_ = view;
  for (RangeId range = 0; range < static_cast<RangeId>(view.chains.size()); ++range) {
    if (!serves(view.chains[static_cast<std::size_t>(range)], server_)) {
      replicas_.erase(range);
      continue;
    }
    std::unique_ptr<RangeReplica>& replica = replicas_[range];
    if (!replica) replica = std::make_unique<RangeReplica>(range, server_, options_, out_, timing_);
    replica->on_lease(lease_);
    replica->on_view(view, now);
  }
  beat(now);
}

void Server::on_beat_done(const HeartbeatDone& done, TimePoint now) {
  if (!started_ || done.sent_at < nanoseconds_of(*started_)) return;
  if (incarnation_ < 0) {
    incarnation_ = done.incarnation;
    beat(now);
  }
  if (done.incarnation > incarnation_) return start_anew(now);
  if (done.incarnation < incarnation_) return;
  const Seconds lease(std::min(done.lease_seconds, timing_.lease.count()));
  lease_ = std::max(lease_, later(time_point_of(done.sent_at), lease));
  for (auto& [range, replica] : replicas_) {
    replica->on_lease(lease_);
    replica->on_time(now);
  }
}

void Server::on_request(RangeId range, const NodeId& from, const Message& message, TimePoint now) {
  const auto at = replicas_.find(range);
  if (at != replicas_.end()) {
    at->second->on_message(from, message, now);
  } else if (is_request(message) && view_.epoch > 0) {
    out_.send(from, Misdirected{range, view_.epoch});
  }
}

void Server::start_anew(TimePoint now) {
  replicas_.clear();
  view_ = {};
  lease_ = {};
  incarnation_ = -1;
  started_ = now;
  beat(now);
}

void Server::beat(TimePoint now) {
  if (!started_) started_ = now;
  next_beat_ = later(now, timing_.beat);
  Heartbeat beat{server_node(server_), incarnation_, view_.epoch,
                 nanoseconds_of(incarnation_ < 0 ? *started_ : now)};
  for (const auto& [range, replica] : replicas_) {
    if (replica->has_caught_up()) beat.caught_up.push_back(range);
  }
  beat.is_leaving = is_leaving_;
  out_.send(kCoordinator, beat);
}

}  // namespace hocket
