#pragma once

#include <map>
#include <optional>

#include "net/clock.h"
#include "ps/message.h"

namespace hocket {

// The side of a worker or the recorder: numbers its requests, finds the head of each range in the newest
// view, and sends again what is not answered, until it is. A state machine: used by one thread, never blocks.
class Client {
 public:
  Client(NodeId me, Outbox& out, Seconds patience = Seconds(0.25));

  void on_message(const NodeId& from, const Message& message, TimePoint now);
  void on_time(TimePoint now);      // Sends again, beats.
  TimePoint next_deadline() const;  // Until when nothing needs doing but what messages bring.

  const View& view() const;  // Epoch 0 until the coordinator has answered.
  int ranges() const;

  // The request is under way until is_done(); payloads without an owner must stay as they are until then.
  void change(RangeId range, Change change, TimePoint now);
  bool is_done(RangeId range) const;  // No change is under way there.
  std::int64_t dropped() const;       // Gradients that the servers did not use.

  void pull(RangeId range, std::int64_t clock, Payload ids, std::uint64_t destination, bool with_state,
            TimePoint now);
  std::optional<PullDone> take_pull(RangeId range);  // The answer, once.

  void leave(TimePoint now);
};

}  // namespace hocket
