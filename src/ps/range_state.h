#pragma once

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "nn/schedule.h"
#include "ps/consistency.h"
#include "ps/message.h"
#include "ps/store.h"

namespace hocket {

struct ReplicaOptions {
  int workers = 1;
  MakeConsistency make_consistency;
  // The optimizer's numbers for update `version` (from 0) after `batches` batches; empty: as the range's rate
  // says for the batch that these are the beginning of.
  std::function<Hyper(std::int64_t version, double batches)> hyper{};
  std::function<std::unique_ptr<Store>(const Init&)> make_store = hocket::make_store;
};

// All that the replicas of a range agree on: a function of the changes alone, in their order. Changes come
// from a wire: one that does not fit changes nothing but its client's sequence. Used by one thread.
class RangeState {
 public:
  struct Made {
    NodeId client;
    Sequence sequence;
    bool was_dropped = false;
  };

  explicit RangeState(const ReplicaOptions& options);

  // Returns what may be acknowledged now: a gradient that is kept, in memory that nobody owns, only later.
  std::vector<Made> make(const ChangeRequest& request);

  // Copies the gradients up to `serial` that are kept, for the same: whoever waits for them might be whom
  // they wait for.
  std::vector<Made> copy_kept(std::int64_t serial);
  std::int64_t last_serial() const { return serials_; }

  Sequence last_of(const NodeId& client) const;
  // The change of that number, if it may be acknowledged (again).
  std::optional<Made> find_made(const NodeId& client, const Sequence& sequence) const;
  bool may_read(const PullRequest& pull) const;
  PullDone read(const PullRequest& pull);  // Its payloads are valid until the next call of any function.
  RangeStatus status(RangeId range) const;
  RangeProgress progress() const;
  const Store* store() const { return store_.get(); }
  std::int64_t unused() const;  // Gradients that were dropped, or wait.

  std::vector<std::byte> save() const;
  void restore(std::span<const std::byte> bytes);  // Throws Error; the state is then of no use.

 private:
  struct Last {
    Sequence sequence;
    bool was_dropped = false;
  };
  struct Kept {
    NodeId client;
    Sequence sequence;
    Push push;
    bool is_acknowledged = false;

    bool is_copied() const;
  };

  void make_init(const Init& init, const Made& made);
  void make_push(const Push& push, const Made& made);
  void set_store(const Init& init);
  Hyper hyper() const;
  void lose(int worker);
  void rejoin(int worker);
  void follow(const Verdict& verdict);
  void update(const Verdict& verdict);
  void count_applied(const Push& push);
  void drop(std::int64_t serial);
  void release(std::int64_t serial, bool was_dropped);
  bool may_wait(const Push& push) const;
  void acknowledge_kept();
  void acknowledge_copied(Kept& kept);
  void acknowledge(const Made& made);
  bool is_right(const Push& push) const;
  bool is_worker(std::int64_t index) const { return index >= 0 && index < options_->workers; }

  const ReplicaOptions* options_;
  std::unique_ptr<Consistency> consistency_;
  std::unique_ptr<Store> store_{};
  RangeSpec spec_{};
  std::optional<LearningRate> rate_{};
  std::int64_t step_ = 0;
  std::int64_t version_ = 0;
  std::int64_t applied_ = 0;  // Gradients.
  std::int64_t samples_ = 0;
  double loss_ = 0;
  std::int64_t serials_ = 0;
  std::map<std::int64_t, Kept> kept_{};  // By serial.
  std::map<NodeId, Last> last_{};
  std::vector<SliceStatus> slices_;
  std::vector<bool> is_lost_;  // By worker.
  std::vector<Made> made_{};   // By the change under way.
};

}  // namespace hocket
