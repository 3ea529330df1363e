#pragma once

#include <map>
#include <optional>

#include "net/clock.h"
#include "ps/change_queue.h"
#include "ps/message.h"
#include "ps/timing.h"

namespace hocket {

// The side of a worker or the recorder: numbers its requests, finds the head of each range in the newest
// view, and sends again what is not answered, until it is. A state machine: used by one thread, never blocks.
class Client {
 public:
  Client(NodeId me, Outbox& out, const ClusterTiming& timing = {});

  void on_message(const NodeId& from, const Message& message, TimePoint now);
  void on_time(TimePoint now);      // Sends again, beats.
  TimePoint next_deadline() const;  // Until when nothing needs doing but what messages bring.

  const View& view() const;  // Epoch 0 until the coordinator has answered.
  int ranges() const;
  std::int32_t incarnation() const;  // -1 until the coordinator has given one.
  bool is_superseded() const;        // Another process has this one's place: nothing is sent any more.

  // The request is under way until is_done(); payloads without an owner must stay as they are until then.
  void change(RangeId range, Change change, TimePoint now);
  std::size_t under_way(RangeId range) const;  // Changes.
  bool is_done(RangeId range) const { return under_way(range) == 0; }
  std::int64_t dropped() const;  // Gradients that the servers did not use.

  void pull(RangeId range, std::int64_t clock, Payload ids, std::uint64_t destination, bool with_state,
            TimePoint now);
  std::optional<PullDone> take_pull(RangeId range);  // The answer, once.

  void leave(TimePoint now);

 private:
  struct Pull {
    PullRequest request;
    Resending resending;
    bool is_open = false;
    std::optional<PullDone> answer{};
  };

  void on_view(const View& view, TimePoint now);
  void on_beat_done(const HeartbeatDone& done, TimePoint now);
  void on_change_done(const ChangeDone& done, TimePoint now);
  void on_pull_done(const PullDone& done);
  void beat(TimePoint now);
  void send_pull(Pull& pull);
  ChangeQueue& changes_of(RangeId range);
  bool can_send() const { return incarnation_ >= 0 && view_.epoch > 0 && !is_superseded_; }

  NodeId me_;
  Outbox& out_;
  ClusterTiming timing_;
  std::optional<TimePoint> started_{};
  std::int32_t incarnation_ = -1;
  bool is_superseded_ = false;
  bool is_leaving_ = false;
  TimePoint next_beat_{};
  View view_{};
  std::map<RangeId, ChangeQueue> changes_;
  std::map<RangeId, Pull> pulls_;
  std::int64_t requests_ = 0;  // Begins with when the process started: numbers of one before it are lower.
  std::int64_t dropped_ = 0;
};

}  // namespace hocket
