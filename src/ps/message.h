#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "nn/optimizer.h"
#include "ps/node_id.h"
#include "ps/payload.h"
#include "tensor/dtype.h"

namespace hocket {

using RangeId = std::int32_t;

// Elements [begin, begin + count) of a dense range that are updated alike.
struct Segment {
  std::int64_t begin = 0;
  std::int64_t count = 0;
  double decay = 0;
  bool is_sum = false;  // What is pushed is added as it is: running statistics, not parameters.
};

// The learning rate over a run, as LearningRate of nn/schedule.h reads it.
struct RateSpec {
  std::string schedule = "constant";
  double base = 0;
  std::int64_t warmup = 0;
  std::int64_t total_steps = 1;
  std::int64_t steps_per_epoch = 1;
};

// What a range holds: a part of the dense parameters, or the rows of a table whose ids hash to it.
struct RangeSpec {
  DType dtype = DType::f32;
  OptimizerSpec optimizer{};
  RateSpec rate{};
  std::vector<Segment> segments{};  // Dense; one after the other, from 0.
  std::int64_t width = 0;           // Of a table's rows; 0: dense.
  std::uint64_t seed = 0;           // Rows appear with values that are a function of (seed, id).
  double spread = 0;                // Of these values, uniform in [-spread, spread].
};

// What changes a range. Every replica of it sees the same changes in the same order.
struct Init {
  RangeSpec spec;
  std::int64_t step = 0;  // Of training, that the values come from.
  Payload values{};
  Payload state{};  // Of the optimizer; empty: zero.
};
// What a worker has done so far.
struct WorkerAccount {
  double compute_seconds = 0;
  double wait_seconds = 0;
  double cpu_seconds = 0;
  std::uint64_t bytes_moved = 0;  // Pushed and pulled.
  std::uint64_t messages_sent = 0;
  std::int64_t peak_rss_bytes = 0;
};
struct Push {
  std::int32_t slice = 0;    // Whose share of the batch: that of the worker itself unless it took one over.
  std::int64_t clock = 0;    // Which batch.
  std::int64_t version = 0;  // Of the values that the gradient was computed from.
  Payload ids{};             // Of the rows of a table, std::uint64_t; empty: a dense range.
  Payload values{};          // The gradient of the slice's part of the mean loss of the whole batch.
  double loss = 0;           // Of the slice, summed over its samples.
  std::int64_t samples = 0;
  std::int32_t batches = 1;  // Whose gradients were added up.
  WorkerAccount account{};
};
struct WorkerLost {
  std::int32_t worker = 0;
};
struct WorkerJoined {
  std::int32_t worker = 0;
};
using Change = std::variant<Init, Push, WorkerLost, WorkerJoined>;

// A client's requests for one range are numbered from 1, one after the other, anew in each incarnation (a
// process that starts again has a higher one). A change that a replica has made already is acknowledged and
// not made again.
struct Sequence {
  std::int32_t incarnation = 0;
  std::int64_t number = 0;

  auto operator<=>(const Sequence&) const = default;  // NOLINT(modernize-use-nullptr): clang-tidy 14 errs.
};

struct ChangeRequest {
  RangeId range = 0;
  std::int64_t epoch =
      0;  // Of the view that the sender goes by: a fence against those who missed a newer one.
  NodeId client;
  Sequence sequence;
  Change change;
};
struct ChangeDone {  // On all live replicas.
  RangeId range = 0;
  Sequence sequence;
  bool was_dropped = false;  // A gradient that came too late.
};
struct PullRequest {
  RangeId range = 0;
  std::int64_t epoch = 0;
  NodeId client;
  std::int64_t request = 0;  // The client's number for it.
  std::int64_t clock = 0;    // Which batch the values are for; answered when the discipline lets it go on.
  Payload ids{};
  bool with_state = false;
  std::uint64_t destination = 0;  // 1 + where in the client's shared memory the values go; 0: in the reply.
};
// Where a range stands. `batches` are counted: gradients applied over the number of workers.
struct RangeProgress {
  std::int64_t version = 0;
  double batches = 0;
  std::int64_t samples = 0;
  double loss = 0;  // Summed over them.
};
struct PullDone {
  RangeId range = 0;
  std::int64_t request = 0;
  RangeProgress progress;
  Payload values{};
  Payload state{};
  std::uint64_t destination = 0;
};
// What became of the gradients of each slice, as the recorder shows it.
struct StatusRequest {
  RangeId range = 0;
  NodeId client;
};
struct SliceStatus {
  std::int64_t clock = 0;  // Gradients that came.
  std::int64_t dropped = 0;
  std::vector<std::int64_t> staleness{};  // How many were applied with staleness 0, 1, …; the last: or more.
  WorkerAccount account{};
};
struct RangeStatus {
  RangeId range = 0;
  RangeProgress progress;
  std::vector<SliceStatus> slices{};
};
inline constexpr std::size_t kMaxStaleness = 255;
// Not the head of the range in the newest view: ask the coordinator who is.
struct Misdirected {
  RangeId range = 0;
  std::int64_t epoch = 0;
};

// Along the chain of a range's replicas, head to tail, and back.
struct Forward {
  RangeId range = 0;
  std::int64_t epoch = 0;
  std::int64_t index = 0;  // Of the change, from 1.
  ChangeRequest request;
};
struct ForwardDone {
  RangeId range = 0;
  std::int64_t epoch = 0;
  std::int64_t index = 0;  // This and all before it are on every replica behind.
};
struct Snapshot {  // To a replica that joins behind the tail.
  RangeId range = 0;
  std::int64_t epoch = 0;
  std::int64_t index = 0;
  Payload state;
};

// Who serves what, as the coordinator has decided. A new one has a higher epoch.
struct View {
  struct Chain {
    std::vector<std::int32_t> servers{};  // Head first.
    std::int32_t joining = -1;            // Who is brought up to date behind the tail,
    std::int64_t joined = 0;              // and the epoch since which: what it had before counts for nothing.
    std::int64_t handed_over = 0;         // The last epoch that took the place of a head that still lived.
  };
  std::int64_t epoch = 0;
  std::vector<Chain> chains{};             // By range.
  std::vector<std::int32_t> slices{};      // By slice: the worker that computes it.
  std::vector<std::int32_t> incarnations;  // By worker; -1: not live.
  std::vector<std::int32_t> servers{};     // By server: the incarnation that the chains mean.
  bool is_over = false;                    // Workers leave.
};
// A node lives, and knows this view. A tail names the ranges whose joining server has caught up with it.
struct Heartbeat {
  NodeId node;
  std::int32_t incarnation = -1;  // -1: new, asks for one.
  std::int64_t epoch = 0;
  std::int64_t sent_at = 0;  // By the node's own clock, in nanoseconds; while it is new, when it started.
  std::vector<RangeId> caught_up{};
  bool is_leaving = false;
};
struct HeartbeatDone {
  std::int32_t incarnation = 0;
  std::int64_t sent_at = 0;  // The node's own clock, from the Heartbeat: the lease runs from then.
  double lease_seconds = 0;
};
struct Stop {};  // From the recorder: the training is over.
struct Parcel {  // What a discipline says in words of its own.
  Payload bytes{};
};

using Message =
    std::variant<ChangeRequest, ChangeDone, PullRequest, PullDone, StatusRequest, RangeStatus, Misdirected,
                 Forward, ForwardDone, Snapshot, View, Heartbeat, HeartbeatDone, Stop, Parcel>;

// Takes messages away. A payload without an owner is consumed before send() returns, unless it is that of a
// ChangeRequest, which stays as it is until ChangeDone. Messages may be lost.
class Outbox {
 public:
  virtual ~Outbox() = default;
  virtual void send(const NodeId& to, const Message& message) = 0;
};

}  // namespace hocket
