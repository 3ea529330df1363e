#pragma once

#include <map>
#include <memory>
#include <optional>

#include "ps/range_replica.h"

namespace hocket {

// A server: the replicas that the view gives it, and its word to the coordinator that it lives. One whose
// place another process has got, or that was given up, starts anew with nothing. A state machine: used by one
// thread, never blocks. Outlived by `options` and `out`.
class Server {
 public:
  Server(int server, const ReplicaOptions& options, Outbox& out, const ClusterTiming& timing = {});

  void on_message(const NodeId& from, const Message& message, TimePoint now);
  void on_time(TimePoint now);
  TimePoint next_deadline() const;  // Until when nothing needs doing but what messages bring.

  void leave() { is_leaving_ = true; }
  bool has_left() const;  // Was told to, and serves nothing any more.
  const View& view() const { return view_; }
  const RangeReplica* replica(RangeId range) const;

 private:
  void on_view(const View& view, TimePoint now);
  void on_beat_done(const HeartbeatDone& done, TimePoint now);
  void on_request(RangeId range, const NodeId& from, const Message& message, TimePoint now);
  void start_anew(TimePoint now);
  void beat(TimePoint now);

  int server_;
  const ReplicaOptions& options_;
  Outbox& out_;
  ClusterTiming timing_;
  std::optional<TimePoint> started_;
  std::int32_t incarnation_ = -1;
  bool is_leaving_ = false;
  TimePoint next_beat_{};
  TimePoint lease_{};
  View view_{};
  std::map<RangeId, std::unique_ptr<RangeReplica>> replicas_;
};

}  // namespace hocket
