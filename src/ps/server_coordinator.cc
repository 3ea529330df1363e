#include "ps/server_coordinator.h"

#include <algorithm>

namespace hocket {
namespace {

constexpr int kMaxServers = 4096;

}  // namespace

ServerCoordinator::ServerCoordinator(const ServerCoordinatorOptions& options, CoordinatorDisk& disk,
                                     Outbox& out, TimePoint now)
    : options_(options), disk_(disk), out_(out), looked_(now) {
  const auto ranges = static_cast<std::size_t>(options.ranges);
  has_caught_up_.resize(ranges);
  changes_.reserve(ranges);
  for (RangeId range = 0; range < options.ranges; ++range)
    changes_.emplace_back(range, kCoordinator, out, options.timing.patience);
  if (const std::vector<std::byte> bytes = disk.load(); !bytes.empty()) load(bytes, now);
  save();
}

void ServerCoordinator::on_message(const NodeId& from, const Message& message, TimePoint now) {
  if (const auto* beat = std::get_if<Heartbeat>(&message); beat && beat->node == from) on_beat(*beat, now);
  if (const auto* done = std::get_if<ChangeDone>(&message)) on_change_done(*done, now);
  if (std::holds_alternative<Stop>(message) && from == kRecorder) is_over_ = true;
}

void ServerCoordinator::on_time(TimePoint now) {
  next_look_ = later(now, options_.timing.beat / 4);
  forgive_own_sleep(now);
  reconsider(now);
  for (ChangeQueue& changes : changes_) changes.send_if_due(view_, incarnation_, now);
}

bool ServerCoordinator::is_lost(RangeId range) const {
  return view_.epoch > 0 && view_.chains[static_cast<std::size_t>(range)].servers.empty();
}

void ServerCoordinator::on_beat(const Heartbeat& beat, TimePoint now) {
  if (!is_known_place(beat.node)) return;
  if (beat.incarnation < 0) register_process(beat.node, beat.sent_at, now);
  const auto at = seats_.find(beat.node);
  if (at == seats_.end()) return;
  Seat& seat = at->second;
  const bool is_current =
      beat.incarnation < 0 ? beat.sent_at == seat.started : beat.incarnation == seat.incarnation;
  if (is_current) {
    take_word(beat, seat, now);
    answer(beat, seat);
  } else if (beat.incarnation >= 0 && beat.incarnation < seat.incarnation) {
    out_.send(beat.node, HeartbeatDone{seat.incarnation, beat.sent_at, 0});
  }
}

// A process is known by when it started. One that started earlier than the present one sent its word before
// it died, unless the present one is silent: then clocks are of two hosts, or one was started anew.
void ServerCoordinator::register_process(const NodeId& node, std::int64_t started, TimePoint now) {
  const auto at = seats_.find(node);
  if (at == seats_.end()) {
    seats_[node] = {0, started, false, now, 0, now};
  } else if (started > at->second.started || (started < at->second.started && is_silent(at->second, now))) {
    Seat& seat = at->second;
    seat = {seat.incarnation + 1,
            started,
            false,
            now,
            0,
            std::max(seat.fenced, later(seat.heard, options_.timing.silence()))};
  } else {
    return;
  }
  save();
}

void ServerCoordinator::take_word(const Heartbeat& beat, Seat& seat, TimePoint now) {
  seat.heard = now;
  seat.is_leaving = beat.is_leaving;
  seat.epoch = std::max(seat.epoch, beat.epoch);
  if (beat.node.kind != NodeKind::server) return;
  for (const RangeId range : beat.caught_up) {
    if (range < 0 || range >= static_cast<RangeId>(view_.chains.size())) continue;
    const View::Chain& chain = view_.chains[static_cast<std::size_t>(range)];
    const bool is_tail = !chain.servers.empty() && chain.servers.back() == beat.node.index;
    if (is_tail && chain.joining >= 0 && beat.epoch >= chain.joined)
      has_caught_up_[static_cast<std::size_t>(range)] = true;
  }
}

// Only who knows the newest view gets a lease.
void ServerCoordinator::answer(const Heartbeat& beat, const Seat& seat) {
  const bool knows_all = beat.incarnation >= 0 && view_.epoch > 0 && beat.epoch == view_.epoch;
  const double lease = knows_all ? options_.timing.lease.count() : 0;
  out_.send(beat.node, HeartbeatDone{seat.incarnation, beat.sent_at, lease});
  if (beat.epoch < view_.epoch) out_.send(beat.node, view_);
}

void ServerCoordinator::on_change_done(const ChangeDone& done, TimePoint now) {
  if (done.range < 0 || done.range >= options_.ranges) return;
  ChangeQueue& changes = changes_[static_cast<std::size_t>(done.range)];
  if (changes.on_done(done, incarnation_)) changes.send(view_, incarnation_, now);
}

void ServerCoordinator::reconsider(TimePoint now) {
  if (now < quiet_until_) return;
  if (view_.epoch == 0) {
    if (have_all_come(now)) publish(first_view(facts(now), options_.ranges), now);
    return;
  }
  View next = next_view(view_, facts(now));
  if (next.epoch > view_.epoch) publish(std::move(next), now);
}

ClusterFacts ServerCoordinator::facts(TimePoint now) const {
  ClusterFacts facts;
  int servers = options_.servers;
  for (const auto& [node, seat] : seats_) {
    if (node.kind == NodeKind::server) servers = std::max(servers, node.index + 1);
  }
  if (view_.epoch == 0) servers = options_.servers;
  facts.servers.reserve(static_cast<std::size_t>(servers));
  for (int server = 0; server < servers; ++server) facts.servers.push_back(server_fact(server, now));
  facts.workers.assign(static_cast<std::size_t>(options_.workers), -1);
  for (int worker = 0; worker < options_.workers; ++worker) {
    const auto at = seats_.find(worker_node(worker));
    const bool is_live = at != seats_.end() && !is_silent(at->second, now) && !at->second.is_leaving;
    if (is_live) facts.workers[static_cast<std::size_t>(worker)] = at->second.incarnation;
  }
  facts.has_caught_up = has_caught_up_;
  facts.replicas = options_.replicas;
  facts.is_over = is_over_;
  return facts;
}

ServerFact ServerCoordinator::server_fact(int server, TimePoint now) const {
  const auto index = static_cast<std::size_t>(server);
  const auto at = seats_.find(server_node(server));
  if (at == seats_.end()) return {};
  const Seat& seat = at->second;
  const bool is_meant = index < view_.servers.size() && view_.servers[index] == seat.incarnation;
  const bool is_silent_now = is_silent(seat, now);
  return {seat.incarnation, !is_silent_now && now >= seat.fenced,
          is_meant ? is_silent_now : now >= seat.fenced, seat.is_leaving, seat.epoch == view_.epoch};
}

void ServerCoordinator::publish(View view, TimePoint now) {
  const std::vector<std::int32_t> before = std::exchange(view_, std::move(view)).incarnations;
  for (std::size_t range = 0; range < view_.chains.size(); ++range) {
    if (view_.chains[range].joining < 0 || view_.chains[range].joined == view_.epoch)
      has_caught_up_[range] = false;
  }
  save();
  for (const auto& [node, seat] : seats_) out_.send(node, view_);
  if (!before.empty()) tell_of_workers(before, now);
  for (ChangeQueue& changes : changes_) changes.send(view_, incarnation_, now);
}

void ServerCoordinator::tell_of_workers(const std::vector<std::int32_t>& before, TimePoint /*now*/) {
  for (std::size_t worker = 0; worker < before.size(); ++worker) {
    if (before[worker] == view_.incarnations[worker]) continue;
    if (before[worker] >= 0) tell_of_worker(static_cast<int>(worker), false);
    if (view_.incarnations[worker] >= 0) tell_of_worker(static_cast<int>(worker), true);
  }
}

void ServerCoordinator::tell_of_worker(int worker, bool is_live) {
  for (ChangeQueue& changes : changes_) {
    if (is_live) {
      changes.add(WorkerJoined{worker});
    } else {
      changes.add(WorkerLost{worker});
    }
  }
}

// Who did not look for a while does not hold its own sleep against the others.
void ServerCoordinator::forgive_own_sleep(TimePoint now) {
  if (now - looked_ > 3 * options_.timing.beat) {
    for (auto& [node, seat] : seats_) seat.heard = now;
  }
  looked_ = now;
}

bool ServerCoordinator::is_known_place(const NodeId& node) const {
  if (node.index < 0) return false;
  if (node.kind == NodeKind::server) return node.index < kMaxServers;
  return node.kind == NodeKind::worker ? node.index < options_.workers : node == kRecorder;
}

bool ServerCoordinator::have_all_come(TimePoint now) const {
  const auto has_come = [&](const NodeId& node) {
    const auto at = seats_.find(node);
    return at != seats_.end() && !is_silent(at->second, now);
  };
  for (int server = 0; server < options_.servers; ++server) {
    if (!has_come(server_node(server))) return false;
  }
  for (int worker = 0; worker < options_.workers; ++worker) {
    if (!has_come(worker_node(worker))) return false;
  }
  return true;
}

}  // namespace hocket
