#pragma once

#include <map>
#include <span>
#include <vector>

#include "ps/change_queue.h"
#include "ps/message.h"
#include "ps/timing.h"
#include "ps/view_plan.h"

namespace hocket {

// Where the coordinator's state outlives it. save() returns when the bytes would survive a crash; load()
// gives those of the last save(), or nothing.
class CoordinatorDisk {
 public:
  virtual ~CoordinatorDisk() = default;
  virtual void save(std::span<const std::byte> bytes) = 0;
  virtual std::vector<std::byte> load() = 0;
};

struct ServerCoordinatorOptions {
  int servers = 1;  // And workers: that must have come before the first view.
  int workers = 1;
  int replicas = 1;
  int ranges = 1;
  ClusterTiming timing{};
};

// Decides who serves what, as a state machine: used by one thread, never blocks. Nodes beat; it gives them
// incarnations and leases, makes a view of those that are there, and a new one when that changes. What it
// decides is on its disk before anyone hears of it. Started again, it goes on from there, and for the time of
// a lease changes nothing. Throws DataError for a disk whose bytes it cannot have written.
class ServerCoordinator {
 public:
  ServerCoordinator(const ServerCoordinatorOptions& options, CoordinatorDisk& disk, Outbox& out,
                    TimePoint now);

  void on_message(const NodeId& from, const Message& message, TimePoint now);
  void on_time(TimePoint now);
  TimePoint next_deadline() const { return next_look_; }

  const View& view() const { return view_; }
  bool is_lost(RangeId range) const;  // All its replicas have gone.

 private:
  struct Seat {
    std::int32_t incarnation = 0;
    std::int64_t started = 0;  // When its process did, by the node's clock.
    bool is_leaving = false;
    TimePoint heard{};
    std::int64_t epoch = 0;  // Of the view that it knows.
    TimePoint fenced{};      // Until when a process before it may hold a lease.
  };

  void on_beat(const Heartbeat& beat, TimePoint now);
  void register_process(const NodeId& node, std::int64_t started, TimePoint now);
  void take_word(const Heartbeat& beat, Seat& seat, TimePoint now);
  void answer(const Heartbeat& beat, const Seat& seat);
  void on_change_done(const ChangeDone& done, TimePoint now);

  void reconsider(TimePoint now);
  ClusterFacts facts(TimePoint now) const;
  ServerFact server_fact(int server, TimePoint now) const;
  void publish(View view, TimePoint now);
  void tell_of_workers(const std::vector<std::int32_t>& before, TimePoint now);
  void tell_of_worker(int worker, bool is_live);
  void forgive_own_sleep(TimePoint now);
  bool is_silent(const Seat& seat, TimePoint now) const {
    return now - seat.heard > options_.timing.silence();
  }
  bool is_known_place(const NodeId& node) const;
  bool have_all_come(TimePoint now) const;

  void save();
  void load(std::span<const std::byte> bytes, TimePoint now);

  ServerCoordinatorOptions options_;
  CoordinatorDisk& disk_;
  Outbox& out_;
  std::int32_t incarnation_ = 0;  // Its own, as a client of the ranges.
  View view_{};
  std::map<NodeId, Seat> seats_;
  std::vector<bool> has_caught_up_;
  std::vector<ChangeQueue> changes_;  // By range.
  bool is_over_ = false;
  TimePoint quiet_until_{};
  TimePoint looked_{};
  TimePoint next_look_{};
};

}  // namespace hocket
