#include "train/batch_stream.h"

#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

StageCourse course_of(const PipelinePlan& plan, int stage) {
  return {plan.schedule, {plan.ranks, 1, plan.chunks, plan.vertical_sync}, stage};
}

}  // namespace

BatchStream::BatchStream(const PipelinePlan& plan, int stage, ActionRunner& actions, Enter enter)
    : plan_(plan),
      stage_(stage),
      actions_(actions),
      enter_(std::move(enter)),
      course_(course_of(plan, stage)) {}

BatchUnderWay BatchStream::pass_batch() {
  for (look_ahead(); !upcoming_.empty(); look_ahead()) {
    const PipelineAction action = upcoming_.front();
    const BatchUnderWay batch = batch_of(action);
    actions_.expect(upcoming_);
    actions_.perform(action, batch);
    upcoming_.erase(upcoming_.begin());
    if (action.kind != ActionKind::update || batch.index_of(action) + 1 < batch.count) continue;
    batches_.pop_front();
    look_ahead();
    if (!is_empty()) return batch;
    actions_.micro_batches().end_versions(entered_);
    course_ = course_of(plan_, stage_);
    entered_ = 0;
    drains_ = false;
    return batch;
  }
  HOCKET_CHECK(false, "a stream that nothing enters");
}

// One action is looked at before it is due, so that what it receives can be on its way.
void BatchStream::look_ahead() {
  while (upcoming_.size() < 2) {
    if (course_.is_hungry() && !drains_) drains_ = !try_enter();
    const std::optional<PipelineAction> action = course_.next();
    if (!action) return;
    upcoming_.push_back(*action);
  }
}

bool BatchStream::try_enter() {
  std::optional<BatchUnderWay> batch = enter_(entered_ == 0);
  if (!batch) return false;
  batch->first = entered_;
  entered_ += batch->count;
  course_.enter(batch->count);
  batches_.push_back(*batch);
  return true;
}

const BatchUnderWay& BatchStream::batch_of(const PipelineAction& action) const {
  for (const BatchUnderWay& batch : batches_) {
    if (batch.index_of(action) < batch.count) return batch;
  }
  HOCKET_CHECK(false, "micro-batch {} is of no batch under way", action.micro_batch);
}

}  // namespace hocket
