#pragma once

#include <atomic>
#include <optional>

#include "train/action_runner.h"
#include "train/balance.h"
#include "train/batch_feed.h"
#include "train/batch_stream.h"
#include "train/lazy_decay.h"
#include "train/replica.h"
#include "train/stage_notes.h"
#include "train/step_calendar.h"
#include "train/step_recorder.h"
#include "train/stop_vote.h"

namespace hocket {

// What the steps of a worker work with; outlives them.
struct StepContext {
  const TrainOptions& given;    // As the user gave them,
  const TrainOptions& options;  // and with all that the run has decided.
  const StepCalendar& calendar;
  const PipelinePlan& plan;
  SessionData& data;
  Session& session;
  Replica& replica;
  Team& team;
  TimeAccount& time;
  TrainObserver& observer;
  const std::atomic<bool>& stop;
};

// The steps of this worker, one after the other: a batch, its actions, and what workers do together around
// its update. Used by the training thread. Throws what these throw.
class TrainingSteps {
 public:
  explicit TrainingSteps(const StepContext& context);

  void begin_after(const RunProgress& before);              // Opens the data; the peers are there.
  bool reads_again() const { return feed_.reads_again(); }  // Its data, in the next step.
  void take();                                              // One step.

  RunProgress progress() const;
  std::int64_t step() const { return step_; }
  double epochs() const;
  bool is_stopped() const { return is_stopped_; }                        // Some rank wants to.
  bool have_met() const { return have_met_; }                            // All workers, after this step;
  std::int64_t met_step() const { return met_step_; }                    // and when they last did
  void leave_meeting() { met_step_ = step_; }                            // what was due then.
  bool has_own_pace() const { return has_own_pace_; }                    // Its workers are not in step.
  bool is_under_way() const { return stream_ && !stream_->is_empty(); }  // Batches behind the last are.
  StepState take_state();                                                // Of what was not recorded yet.
  std::size_t activation_bytes() { return actions_.micro_batches().activation_bytes(); }
  std::vector<std::int64_t> shares() const;  // Of a batch, by rank, where they are balanced.

 private:
  void set_hooks();
  std::int64_t pass_batch();
  std::int64_t train_on_batch();
  std::int64_t pass_batch_of_stream();
  std::optional<BatchUnderWay> enter_batch(bool is_first);
  std::int64_t next_drain() const;
  int batches_kept() const;
  int micro_batches_of(const Batch& batch) const;
  void before_update(bool is_last, const Batch& batch);
  std::int64_t computed_in_step() const { return time_.computed_ns() - step_computed_; }
  void slow_down(const Batch& batch);
  PeerStep step_of_peer(double loss, std::int64_t samples);
  void meet_after_update();
  void rebalance();
  bool orders_exchanges_after(std::int64_t step) const;
  bool may_update_late() const;
  void order_exchanges();
  void agree_to_stop();

  StepContext with_;
  TimeAccount& time_;
  Team& team_;
  PeerSync* peers_;  // Null where all have one model.
  const WorkerPlace place_;
  const Straggler straggler_;
  const LearningRate rate_;
  BatchFeed feed_;
  ActionRunner actions_;
  std::optional<StageNotes> notes_;
  std::optional<BatchStream> stream_;
  std::optional<Balance> balance_;
  std::optional<LazyDecay> lazy_decay_;
  StopVote vote_;

  std::int64_t step_computed_ = 0;  // computed_ns() before the step's first action,
  double step_loss_ = 0;            // and the loss.
  PeerStep peer_step_{};
  DataPosition position_;
  std::int64_t step_ = 0;
  std::int64_t own_step_ = 0;  // Others, where each worker goes at its own pace.
  std::int64_t samples_ = 0;
  std::int64_t loss_samples_ = 0;
  std::int64_t met_step_ = 0;
  std::int64_t entered_step_ = 0, drain_step_ = 0;  // Steps whose batches have entered the stream, and shall.
  std::int64_t first_step_ = 0, first_samples_ = 0;  // Done before this process.
  bool have_met_ = true;                             // Without peers, after every step.
  bool has_own_pace_ = false;
  bool is_stopped_ = false;
  bool is_late_ = false;  // The update of this step.
};

// Whether the decay of the weights is not the optimizer's but lazy.
bool decays_lazily(const TrainOptions& options, const DataInfo& info, const Team& team);

}  // namespace hocket
