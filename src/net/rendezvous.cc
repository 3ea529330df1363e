#include "net/rendezvous.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

namespace hocket {

namespace {

constexpr int kMostJoiningRanks =
    1 << 16;  // That a coordinator believes in which was not told how many there are.

}  // namespace

std::string describe(Rank rank, const Member& member) {
  return fmt::format("rank {} (pid {} on {})", rank, member.pid, member.host);
}

Coordinator::Coordinator(CoordinatorOptions options, Outbox& outbox)
    : options_(std::move(options)), outbox_(outbox), seats_(static_cast<std::size_t>(options_.world_size)) {}

int Coordinator::present() const {
  return static_cast<int>(
      std::count_if(seats_.begin(), seats_.end(), [](const Seat& s) { return s.state == State::joined; }));
}

Coordinator::Seat* Coordinator::find_seat(Connection connection) {
  for (Seat& seat : seats_) {
    if (seat.connection == connection && seat.state != State::absent) return &seat;
  }
  return nullptr;
}

std::string Coordinator::name_of(Rank rank) const {
  const Seat& seat = seats_[static_cast<std::size_t>(rank)];
  return seat.state == State::absent ? fmt::format("rank {}", rank) : describe(rank, seat.member);
}

void Coordinator::on_message(Connection from, Rank rank, const ControlMessage& message, TimePoint now) {
  if (const auto* join_message = std::get_if<Join>(&message)) return join(from, rank, *join_message, now);
  Seat* sender = find_seat(from);
  if (sender == nullptr) return;
  if (sender->liveness) sender->liveness->heard(now);
  if (std::holds_alternative<Goodbye>(message)) {
    sender->state = State::left;
    sender->lost_since.reset();
  }
  if (const auto* failed = std::get_if<Failed>(&message)) {
    const Rank culprit = failed->failure.culprit;
    // Of a rank that is about to be declared dead, the cause is on its way.
    if (is_in_world(culprit) && culprit != rank && seat(culprit).lost_since) return;
    fail(culprit, failed->failure.what);
  }
}

void Coordinator::join(Connection from, Rank rank, const Join& join, TimePoint now) {
  if (options_.world_size == 0 && join.world_size > 0 && join.world_size <= kMostJoiningRanks) {
    options_.world_size = join.world_size;
    seats_.resize(static_cast<std::size_t>(join.world_size));
  }
  if (!is_in_world(rank)) {
    outbox_.send(from,
                 Rejected{fmt::format("rank {} is not in a job of {} ranks", rank, options_.world_size)});
    return;
  }
  if (seat(rank).state != State::absent) {
    outbox_.send(from, Rejected{fmt::format("{} has already joined: two processes claim to be rank {}",
                                            name_of(rank), rank)});
    return;
  }
  Seat& mine = seat(rank);
  mine.state = State::joined;
  mine.connection = from;
  mine.member = join.member;
  if (!first_join_) first_join_ = now;
  if (failure_) {
    outbox_.send(from, Rejected{failure_->what});
  } else if (join.world_size != options_.world_size) {
    fail(rank, fmt::format("{} was started with a world of {} ranks, the job has {}", name_of(rank),
                           join.world_size, options_.world_size));
  } else if (present() == options_.world_size) {
    welcome_all(now);
  } else {
    on_tick(now);
  }
}

void Coordinator::welcome_all(TimePoint now) {
  phase_ = Phase::running;
  Welcome welcome;
  welcome.coordinator = options_.process;
  for (const Seat& seat : seats_) welcome.members.push_back(seat.member);
  for (Seat& seat : seats_) {
    seat.liveness.emplace(options_.heartbeat, now);
    outbox_.send(seat.connection, welcome);
  }
}

void Coordinator::fail(Rank culprit, std::string what) {
  if (failure_) return;
  failure_ = {culprit, std::move(what)};
  for (const Seat& seat : seats_) {
    if (seat.state != State::joined) continue;
    if (phase_ == Phase::meeting) {
      outbox_.send(seat.connection, Rejected{failure_->what});
    } else {
      outbox_.send(seat.connection, Failed{*failure_});
    }
  }
}

void Coordinator::on_closed(Connection connection, std::string_view why, TimePoint now) {
  Seat* found = find_seat(connection);
  if (found == nullptr || found->state != State::joined) return;
  found->state = State::ended;
  found->lost_how = fmt::format("ended without a goodbye: {}", why);
  found->lost_since = now;
  settle_lost(rank_of(*found), now);
}

void Coordinator::on_exit(Rank rank, const std::string& how, TimePoint now) {
  if (!is_in_world(rank)) return;
  Seat& gone = seat(rank);
  gone.exit_how = how;
  // What it said before may still be unread: the end of its connection comes after that.
  if (gone.state == State::joined && !gone.lost_since) gone.lost_since = now;
  if (gone.state == State::ended) settle_lost(rank, now);
}

// Declares a lost rank dead once its connection has ended and the cause is known, or when that takes too
// long.
void Coordinator::settle_lost(Rank rank, TimePoint now) {
  Seat& lost = seat(rank);
  if (!lost.lost_since) return;
  const bool knows_all = lost.state == State::ended && !lost.exit_how.empty();
  if (!knows_all && now - *lost.lost_since < options_.cause_grace) return;
  lost.lost_since.reset();
  const std::string name = name_of(rank);
  lost.state = State::ended;
  fail(rank, fmt::format("{} {}", name, lost.exit_how.empty() ? lost.lost_how : lost.exit_how));
}

void Coordinator::on_tick(TimePoint now) {
  for (Rank rank = 0; rank < options_.world_size; ++rank) {
    settle_lost(rank, now);
    Seat& each = seat(rank);
    if (each.state != State::joined || !each.liveness) continue;
    if (const auto silence =
            each.liveness->is_silent(now, [&] { return options_.is_running(each.member); })) {
      fail(rank, fmt::format("{} has been silent for {:.2g} s", name_of(rank), silence->count()));
    }
    if (each.liveness->is_time_to_beat(now)) outbox_.send(each.connection, Beat{});
  }
  check_missing(now);
}

void Coordinator::check_missing(TimePoint now) {
  if (phase_ != Phase::meeting || !first_join_ || failure_) return;
  std::vector<Rank> missing;
  for (const Seat& each : seats_) {
    if (each.state != State::absent) continue;
    missing.push_back(rank_of(each));
    if (!each.exit_how.empty()) {
      return fail(missing.back(), fmt::format("rank {} {} before it joined", missing.back(), each.exit_how));
    }
  }
  if (now - *first_join_ < options_.join_timeout || missing.empty()) return;
  fail(missing.front(),
       fmt::format("rank{} {} of {} did not join within {:.3g} s", missing.size() == 1 ? "" : "s",
                   fmt::join(missing, ", "), options_.world_size, options_.join_timeout.count()));
}

}  // namespace hocket
