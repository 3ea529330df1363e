#pragma once

#include <functional>
#include <queue>
#include <set>
#include <vector>

#include "base/rng.h"
#include "ps/message.h"
#include "ps/timing.h"

namespace hocket {

// Virtual time: what is to happen, in its order. What is due at the same time happens in the order in which
// it was asked for. Used by one thread.
class EventQueue {
 public:
  TimePoint now() const { return now_; }
  void at(TimePoint time, std::function<void()> what);
  void in(Seconds wait, std::function<void()> what) { at(later(now_, wait), std::move(what)); }
  bool run_next();  // False when there is nothing.

 private:
  struct Event {
    TimePoint time;
    std::uint64_t order;
    std::function<void()> what;
  };
  struct IsLater {
    bool operator()(const Event& a, const Event& b) const {
      return a.time != b.time ? a.time > b.time : a.order > b.order;
    }
  };

  TimePoint now_ = TimePoint(std::chrono::seconds(1));
  std::uint64_t orders_ = 0;
  std::priority_queue<Event, std::vector<Event>, IsLater> events_;
};

// What may happen to a message.
struct MessageFaults {
  double loss = 0.01;
  double duplication = 0.01;
  double delay = 0.02;        // The share that is held up:
  Seconds most_delay{0.08};   // at most so long; others
  Seconds least_delay{5e-5};  // take between these two, and overtake each other.
  Seconds usual_delay{1e-3};
};

// Carries messages between simulated nodes, loses, delays, duplicates and reorders them, all as a function of
// the seed, and can be cut in two. Used by one thread.
class SimulatedNetwork {
 public:
  using Deliver = std::function<void(const NodeId& from, const NodeId& to, const Message& message)>;

  SimulatedNetwork(std::uint64_t seed, const MessageFaults& faults, EventQueue& events, Deliver deliver);

  // Payloads are copied, as a wire does, but for those of a change: these lie in shared memory.
  void send(const NodeId& from, const NodeId& to, const Message& message);
  void set_side(std::set<NodeId> side) { side_ = std::move(side); }  // Cut off from all others; empty: none.
  void end_faults();

  std::int64_t lost() const { return lost_; }
  std::int64_t duplicated() const { return duplicated_; }
  std::int64_t sent() const { return sent_; }

 private:
  void carry(const NodeId& from, const NodeId& to, const Message& message);
  Seconds delay();

  Rng random_;
  MessageFaults faults_;
  EventQueue& events_;
  Deliver deliver_;
  std::set<NodeId> side_;
  std::int64_t lost_ = 0;
  std::int64_t duplicated_ = 0;
  std::int64_t sent_ = 0;
};

}  // namespace hocket
