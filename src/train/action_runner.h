#pragma once

#include <array>
#include <functional>
#include <span>
#include <utility>

#include "nn/schedule.h"
#include "train/micro_batches.h"
#include "train/straggler.h"
#include "train/time_account.h"

namespace hocket {

// A batch on its way through the stages.
struct BatchUnderWay {
  const Batch* batch = nullptr;
  std::int64_t step = 0;      // Of the run.
  std::int64_t own_step = 0;  // Of this worker, where each goes at its own pace.
  int first = 0;              // The micro-batch that it begins with, as actions count them,
  int count = 0;              // and how many it has.
  DataPosition after{};       // Where the next one begins.

  int index_of(const PipelineAction& action) const { return action.micro_batch - first; }
};

// What a run does beside the actions of its steps.
struct ActionHooks {
  std::function<void(const Batch&, Slot&)> before_forward;
  std::function<void(const PipelineAction&, const BatchUnderWay&)> before_update;  // May change hyper().
};

// Carries out the actions of this rank's stages: forwards, backwards and updates of micro-batches, each as
// long as the machine that is emulated takes for it. Used by one thread; what it is given must outlive it.
class ActionRunner {
 public:
  // `replicas`: among how many a batch is divided.
  ActionRunner(const TrainOptions& options, const PipelinePlan& plan, const DataInfo& info,
               const LearningRate& rate, const Straggler& straggler, int replicas, Session& session,
               Team& team, TimeAccount& time);
  void set_hooks(ActionHooks hooks) { hooks_ = std::move(hooks); }

  void begin_step(std::int64_t step, std::int64_t own_step);
  // Begins a batch whose micro-batches are updated together: every sample weighs `weight`.
  void begin_batch(double weight);
  // Begins to receive what an action and the one behind it need, in this order; the latter not where it uses
  // the same memory.
  void expect(std::span<const PipelineAction> actions);
  // Throws Error where the loss is not finite, naming the first bad tensor.
  void perform(const PipelineAction& action, const BatchUnderWay& batch);

  // An update may leave what waits for other ranks to the next forward; see Executable::update_late(). Until
  // settle() nobody may look at the weights.
  bool can_update_late() const;
  void set_late(bool is_late) { is_late_ = is_late; }
  void settle();

  MicroBatches& micro_batches() { return micro_batches_; }
  Hyper& hyper() { return hyper_; }
  double loss() const { return loss_; }  // Summed since it was last taken; only in the last stage not 0.
  double take_loss() { return std::exchange(loss_, 0); }
  void add_loss(double loss) { loss_ += loss; }     // Of stages behind.
  const Slot* updated() const { return updated_; }  // The last.

 private:
  void compute(const PipelineAction& action, const BatchUnderWay& batch);
  void update(const PipelineAction& action, const BatchUnderWay& batch);
  void slow_down(const PipelineAction& action, const BatchUnderWay& batch);
  void set_dloss(double value);
  std::int64_t samples_in(const Batch& batch, int micro_batch) const;
  double checked_loss(Slot& slot, const Bindings& bindings, std::int64_t step);

  const TrainOptions& options_;
  const PipelinePlan& plan_;
  const DataInfo info_;
  const LearningRate& rate_;
  const Straggler& straggler_;
  const int replicas_;
  Session& session_;
  Team& team_;
  TimeAccount& time_;
  MicroBatches micro_batches_;
  ActionHooks hooks_;
  Tensor dloss_;
  Hyper hyper_;     // Of this step,
  Hyper updating_;  // and as updates read it, which may still be under way.
  bool is_late_ = false;
  std::array<std::int64_t, 2> action_ns_{};  // What the last forward and backward took to compute.
  double loss_ = 0;
  const Slot* updated_ = nullptr;
};

}  // namespace hocket
