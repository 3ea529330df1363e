#pragma once

#include <deque>
#include <map>
#include <optional>
#include <vector>

#include "ps/message.h"
#include "ps/range_state.h"
#include "ps/timing.h"

namespace hocket {

// One replica of one range, as a state machine: used by one thread, never blocks, time is passed in. The head
// of the chain takes changes, gives them numbers and passes them on; the tail's word travels back, and then
// the head makes them, acknowledges them and lets go the pulls that waited for them. So nothing that was read
// or acknowledged is ever lost with a server. A head without a lease makes and acknowledges nothing. Messages
// with an old epoch change nothing.
class RangeReplica {
 public:
  RangeReplica(RangeId range, int server, const ReplicaOptions& options, Outbox& out,
               const ClusterTiming& timing = {});

  void on_view(const View& view, TimePoint now);
  void on_lease(TimePoint until) { lease_ = until; }
  void on_message(const NodeId& from, const Message& message, TimePoint now);
  void on_time(TimePoint now);  // Sends again what was not answered.
  bool has_caught_up() const;   // Whoever joins behind this replica has all that it has made.

  bool is_head() const { return is_head_; }
  std::int64_t made() const { return made_; }               // Changes, from 1.
  bool has_made_all() const { return made_ == received_; }  // That it knows of.
  const RangeState& state() const { return state_; }

 private:
  struct Entry {
    std::int64_t index = 0;
    ChangeRequest request;
  };
  // The replica behind this one. A server that joins counts from its snapshot on: until it has that, changes
  // are made without it, but kept for it.
  struct Next {
    NodeId node;
    bool joins = false;
    std::int64_t joined = 0;
    bool has_snapshot = true;
    std::int64_t snapshot = 0;  // Index.
    std::int64_t done = 0;      // What it has.
  };
  struct Answer {
    std::int64_t request = 0;
    RangeProgress progress;
  };

  void on_change(const NodeId& from, const ChangeRequest& request, TimePoint now);
  void on_pull(const NodeId& from, const PullRequest& pull, TimePoint now);
  void on_status(const NodeId& from, const StatusRequest& request, TimePoint now);
  void on_forward(const NodeId& from, const Forward& forward, TimePoint now);
  void on_forward_done(const NodeId& from, const ForwardDone& done, TimePoint now);
  void on_snapshot(const NodeId& from, const Snapshot& snapshot, TimePoint now);

  void start_anew(std::int64_t joined);
  void set_next(const View::Chain& chain, int position, TimePoint now);
  void append(const ChangeRequest& request, TimePoint now);
  void send_entries();
  void send_snapshot();
  void send_again(TimePoint now);
  void proceed(TimePoint now);
  void make_committed();
  void copy_kept(TimePoint now);
  void acknowledge(const std::vector<RangeState::Made>& made);
  void answer_pulls();
  void answer(const PullRequest& pull);
  void forget_entries();
  void keep_entries();
  Sequence last_of(const NodeId& client) const;
  bool has_pending(const NodeId& client) const;
  bool may_serve(TimePoint now) const { return is_head_ && now >= serves_from_ && now < lease_; }
  const Entry& entry(std::int64_t index) const {
    return log_[static_cast<std::size_t>(index - log_.front().index)];
  }

  RangeId range_;
  int server_;
  const ReplicaOptions& options_;
  Outbox& out_;

  RangeState state_;
  std::deque<Entry> log_;                        // What is not made here, or not known to be on the next.
  std::map<std::int64_t, ChangeRequest> early_;  // What overtook the entry before it.
  std::int64_t received_ = 0;                    // Indices: the last in the log,
  std::int64_t committed_ = 0;                   // on every replica behind,
  std::int64_t made_ = 0;                        // in the state.
  std::int64_t reported_ = 0;                    // To the replica before.

  std::int64_t epoch_ = 0;
  bool is_head_ = false;
  std::optional<NodeId> previous_;
  std::optional<Next> next_;
  std::int64_t joined_ = 0;  // As in View::Chain, when this replica joined.
  bool waits_for_snapshot_ = false;
  TimePoint lease_{};
  Seconds silence_;
  TimePoint serves_from_{};  // When the lease of a head that gave its place away has run out.
  Resending entries_resending_;
  Resending snapshot_resending_;

  std::int64_t kept_before_ = 0;  // Serials that were there the last time.
  Resending copying_;

  std::map<NodeId, PullRequest> waiting_;
  std::map<NodeId, Answer> answered_;
};

}  // namespace hocket
