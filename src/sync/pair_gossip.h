#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "net/clock.h"
#include "sync/pair_peer.h"
#include "sync/pair_wire.h"
#include "sync/peer_graph.h"
#include "tensor/arena.h"
#include "tensor/dtype.h"

namespace hocket {

// What a worker, or all of them together, has done since the start.
struct PairProgress {
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  double loss = 0;  // Summed over the samples.
};

// A worker's part in asynchronous gossip, in a thread of its own that talks to the other workers while this
// one computes: however slow the computation, who asks is answered at once. Rank 0 counts everybody's steps,
// allows each worker some more, fewer as the end is near, and calls a meeting when it has come. The calls are
// for the thread that computes; they throw what made the other thread fail.
class PairGossip final : private PairWorld, private PairWire::Listener {
 public:
  struct Options {
    std::uint64_t seed = 1;
    DType dtype = DType::f32;
    Seconds deadline{300};  // Of an exchange.
  };
  struct Counts {
    std::int64_t exchanges = 0;
    std::int64_t refusals = 0;
    std::uint64_t bytes_sent = 0;
  };

  // The transport is the thread's from now on. Starts with a copy of `parameters`.
  PairGossip(Transport& transport, const PeerGraph& graph, std::span<const std::byte> parameters,
             const Options& options);
  ~PairGossip() override;
  PairGossip(const PairGossip&) = delete;
  PairGossip& operator=(const PairGossip&) = delete;

  // The parameters that others see and change. Between the two calls they are the caller's alone.
  Arena& lock();
  Arena& locked() { return parameters_; }
  void unlock() { held_.unlock(); }

  // A step is done: reports it, and has the thread ask a neighbour. Whether a meeting is called; then every
  // worker calls settle(), all wait for each other, and each calls settle() again: from then on nothing
  // changes until open().
  bool finish_step(const PairProgress& own, bool wants_to_stop);
  void settle();
  // Goes on until all workers together, which have done `steps` so far, have done `steps_of_all`.
  void open(std::int64_t steps_of_all, std::int64_t steps);

  void stop();                           // Ends the thread; only what follows may be called then.
  PairProgress progress_of_all() const;  // As far as rank 0, who calls it, has heard.
  Counts counts() const;

 private:
  void send(int to, PairWord word) override;
  void send_snapshot(int to, PairWord word) override;
  void meet_half_way() override;
  bool expects_values(int from, PairNotice::Word word) const override;
  void on_notice(int from, const PairNotice& notice) override;
  void on_values_sent() override { peer_.on_sent(); }

  void talk(const std::stop_token& stop);
  bool take_requests();
  void publish();
  void rest();
  void watch_deadline();
  void count(int worker, const PairNotice& report);
  void allow(int worker);
  std::int64_t allowance(std::int64_t steps_left) const;
  bool is_meeting() const { return called_ >= opened_; }
  void rethrow_failure() const;

  Transport& transport_;
  Options options_;
  std::mutex parameters_mutex_;
  Arena parameters_;                   // Guarded by it.
  std::unique_lock<std::mutex> held_;  // By the thread that computes.
  Arena snapshot_;                     // The thread's, as is what follows.
  PairPeer peer_;
  PairWire wire_;
  TimePoint busy_since_ = Clock::now();
  std::int64_t answers_ = 0;  // So many had come then.

  mutable std::mutex mutex_;
  std::condition_variable changed_;
  // Guarded by mutex_.
  bool wants_to_ask_ = false;
  bool has_report_ = false;
  PairNotice report_{};
  bool is_free_ = true;
  std::int64_t called_ = 0;             // Meetings, also those that this worker has not gone on to yet:
  std::int64_t opened_ = 0;             // after each of them, and at the start.
  bool must_call_ = false;              // Rank 0: the others do not know yet.
  std::int64_t steps_to_meeting_ = 0;   // Rank 0: of all workers.
  std::int64_t allowed_ = 0;            // Steps that this worker may come to.
  std::vector<bool> must_allow_;        // Rank 0: workers to tell.
  std::vector<PairProgress> progress_;  // Rank 0: by worker.
  Counts counts_;
  std::exception_ptr failure_;
  std::jthread thread_;
};

}  // namespace hocket
