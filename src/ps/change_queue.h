#pragma once

#include <deque>
#include <optional>

#include "ps/message.h"
#include "ps/timing.h"

namespace hocket {

std::optional<NodeId> head_of(const View& view, RangeId range);

// The changes that one client asks of one range: numbered, sent to the head one after the other, and again
// until they are acknowledged. A state machine: used by one thread, never blocks.
class ChangeQueue {
 public:
  ChangeQueue(RangeId range, NodeId client, Outbox& out, Seconds patience)
      : range_(range), client_(client), out_(&out), resending_(patience) {}

  void add(Change change) { waiting_.push_back(std::move(change)); }
  bool is_empty() const { return waiting_.empty(); }
  std::size_t size() const { return waiting_.size(); }

  void send(const View& view, std::int32_t incarnation, TimePoint now);         // The first of them,
  void send_if_due(const View& view, std::int32_t incarnation, TimePoint now);  // and again.
  TimePoint deadline() const { return is_empty() ? TimePoint::max() : resending_.due(); }

  // Whether the first one was acknowledged by this; it is gone then, and the next is to be sent.
  bool on_done(const ChangeDone& done, std::int32_t incarnation);

 private:
  void transmit(const View& view, std::int32_t incarnation);

  RangeId range_;
  NodeId client_;
  Outbox* out_;
  Resending resending_;
  std::deque<Change> waiting_;
  std::int64_t number_ = 1;  // Of the first.
};

}  // namespace hocket
