#include "ps/simulated_network.h"

#include <algorithm>

namespace hocket {
namespace {

void keep_payloads(Message& message) {
  if (auto* done = std::get_if<PullDone>(&message)) {
    done->values.keep();
    done->state.keep();
  }
  if (auto* snapshot = std::get_if<Snapshot>(&message)) snapshot->state.keep();
  if (auto* forward = std::get_if<Forward>(&message)) {
    if (auto* push = std::get_if<Push>(&forward->request.change)) push->values.keep();
    if (auto* init = std::get_if<Init>(&forward->request.change)) init->values.keep();
  }
}

}  // namespace

void EventQueue::at(TimePoint time, std::function<void()> what) {
  events_.push({std::max(time, now_), orders_++, std::move(what)});
}

bool EventQueue::run_next() {
  if (events_.empty()) return false;
  const Event event = events_.top();
  events_.pop();
  now_ = event.time;
  event.what();
  return true;
}

SimulatedNetwork::SimulatedNetwork(std::uint64_t seed, const MessageFaults& faults, EventQueue& events,
                                   Deliver deliver)
    : random_({seed, 1}), faults_(faults), events_(events), deliver_(std::move(deliver)) {}

void SimulatedNetwork::send(const NodeId& from, const NodeId& to, const Message& message) {
  ++sent_;
  if (side_.contains(from) != side_.contains(to) || random_.uniform() < faults_.loss) {
    ++lost_;
    return;
  }
  Message own = message;
  keep_payloads(own);
  if (random_.uniform() < faults_.duplication) {
    ++duplicated_;
    carry(from, to, own);
  }
  carry(from, to, own);
}

void SimulatedNetwork::end_faults() {
  faults_.loss = faults_.duplication = faults_.delay = 0;
  side_.clear();
}

void SimulatedNetwork::carry(const NodeId& from, const NodeId& to, const Message& message) {
  events_.in(delay(), [this, from, to, message] { deliver_(from, to, message); });
}

Seconds SimulatedNetwork::delay() {
  const bool is_held_up = random_.uniform() < faults_.delay;
  const Seconds most = is_held_up ? faults_.most_delay : faults_.usual_delay;
  return Seconds(random_.uniform(faults_.least_delay.count(), most.count()));
}

}  // namespace hocket
