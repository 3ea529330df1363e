#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "net/clock.h"
#include "net/control_message.h"
#include "net/health.h"
#include "net/liveness.h"

namespace hocket {

struct CoordinatorOptions {
  int world_size = 1;          // 0: as the first rank that joins says.
  Seconds join_timeout{60.0};  // From the first rank that joins to the last.
  HeartbeatTiming heartbeat{};
  // How long the end of a connection waits for on_exit() to say how the process ended.
  Seconds cause_grace{0.0};
  Member process{};  // The coordinator's own.
  std::function<bool(const Member&)> is_running = [](const Member&) {
    return false;
  };  // As far as it can see.
};

// Where the ranks of a job meet and who watches over them, as a state machine: used by one thread, never
// blocks, no clock and no socket of its own.
//
// Once all ranks have joined, each receives the members of all. From then on a rank whose connection ends
// without a goodbye, or that is silent for too long, is dead; the first failure that is seen here or reported
// by a rank goes to all ranks, and later ones change nothing.
class Coordinator {
 public:
  using Connection = std::uint64_t;

  class Outbox {
   public:
    virtual ~Outbox() = default;
    virtual void send(Connection to, const ControlMessage& message) = 0;
  };

  Coordinator(CoordinatorOptions options, Outbox& outbox);

  void on_message(Connection from, Rank rank, const ControlMessage& message, TimePoint now);
  void on_closed(Connection connection, std::string_view why, TimePoint now);
  // From whoever started the rank's process: it ended, as in "was killed by signal 9".
  void on_exit(Rank rank, const std::string& how, TimePoint now);
  void on_tick(TimePoint now);  // At least every 0.1 s.

  const std::optional<Health::Failure>& failure() const { return failure_; }
  bool all_joined() const { return phase_ != Phase::meeting; }
  int present() const;  // Ranks that have joined and neither left nor ended.

 private:
  enum class Phase { meeting, running };
  enum class State { absent, joined, left, ended };
  struct Seat {
    State state = State::absent;
    Connection connection = 0;
    Member member;
    std::optional<Liveness> liveness;
    std::optional<TimePoint> lost_since;  // It is about to be declared dead, and waits for the cause.
    std::string lost_how;
    std::string exit_how;
  };

  void join(Connection from, Rank rank, const Join& join, TimePoint now);
  void welcome_all(TimePoint now);
  void fail(Rank culprit, std::string what);
  void lose(Rank rank, const std::string& how);
  void settle_lost(Rank rank, TimePoint now);
  void check_missing(TimePoint now);
  bool is_in_world(Rank rank) const { return rank >= 0 && rank < options_.world_size; }
  Seat& seat(Rank rank) { return seats_[static_cast<std::size_t>(rank)]; }
  Seat* find_seat(Connection connection);
  std::string name_of(Rank rank) const;
  Rank rank_of(const Seat& seat) const { return static_cast<Rank>(&seat - seats_.data()); }

  CoordinatorOptions options_;
  Outbox& outbox_;
  Phase phase_ = Phase::meeting;
  std::vector<Seat> seats_;  // By rank.
  std::optional<TimePoint> first_join_;
  std::optional<Health::Failure> failure_;
};

// "rank 2 (pid 4711 on host)"
std::string describe(Rank rank, const Member& member);

}  // namespace hocket
