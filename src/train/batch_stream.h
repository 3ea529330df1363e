#pragma once

#include <deque>
#include <functional>
#include <optional>
#include <vector>

#include "plan/stage_course.h"
#include "train/action_runner.h"

namespace hocket {

// Batches on their way through this rank's stage of an endless stream: the next ones enter while the ones
// before are still under way, and the stream runs empty only where none may enter. Used by one thread; what
// it is given must outlive it.
class BatchStream {
 public:
  // The batch that enters next, valid until it is through, with its `first` left out; none where the stream
  // shall drain, which one that `is_empty` cannot.
  using Enter = std::function<std::optional<BatchUnderWay>(bool is_empty)>;

  BatchStream(const PipelinePlan& plan, int stage, ActionRunner& actions, Enter enter);

  // Goes on until another batch is through, and returns it.
  BatchUnderWay pass_batch();
  // Nothing is under way, and the session has the newest weights.
  bool is_empty() const { return batches_.empty(); }

 private:
  void look_ahead();
  bool try_enter();
  const BatchUnderWay& batch_of(const PipelineAction& action) const;

  PipelinePlan plan_;
  int stage_;
  ActionRunner& actions_;
  Enter enter_;
  StageCourse course_;
  int entered_ = 0;  // Micro-batches since the stream was empty.
  bool drains_ = false;
  std::deque<BatchUnderWay> batches_;
  std::vector<PipelineAction> upcoming_;  // Two, where there are as many.
};

}  // namespace hocket
