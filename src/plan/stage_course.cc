// All schedules are one: a stage does some forwards ahead, then a forward and a backward by turns, then the
// backwards that are left. They differ in how many forwards are ahead:
//   naive 0, gpipe all (Huang 2019), 1f1b and pipedream as many as there are stages behind (Narayanan 2019),
//   interleaved 2 for each stage behind and a round of all stages for each further chunk (Narayanan 2021).

#include "plan/stage_course.h"

#include <algorithm>
#include <utility>

namespace hocket {
namespace {

int forwards_ahead(PipelineSchedule schedule, const PipelineShape& shape, int stage) {
  const int behind = shape.stages - 1 - stage;
  switch (schedule) {
    case PipelineSchedule::naive: return 0;
    case PipelineSchedule::gpipe: return shape.micro_batches;
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::pipedream: return behind;
    case PipelineSchedule::interleaved: break;
  }
  return 2 * behind + (shape.chunks - 1) * shape.stages;
}

}  // namespace

StageCourse::StageCourse(PipelineSchedule schedule, const PipelineShape& shape, int stage)
    : shape_(shape),
      is_stream_(schedule == PipelineSchedule::pipedream),
      stage_(stage),
      ahead_(forwards_ahead(schedule, shape, stage)) {}

bool StageCourse::is_hungry() const { return wants_forward() && forwards_ == entered_; }

std::optional<PipelineAction> StageCourse::next() {
  if (std::exchange(owes_update_, false)) return update(backwards_ - 1);
  if (wants_forward() && forwards_ < entered_) return forward(forwards_++);
  if (backwards_ == forwards_) return std::nullopt;
  const PipelineAction action = backward(backwards_++);
  owes_update_ = is_stream_ || backwards_ == entered_;
  return action;
}

// The k-th forward that the stage does, and the k-th backward.
PipelineAction StageCourse::forward(int k) const {
  return {ActionKind::forward, micro_batch(k), chunk(k), version(micro_batch(k))};
}

PipelineAction StageCourse::backward(int k) const {
  return {ActionKind::backward, micro_batch(k), shape_.chunks - 1 - chunk(k), version(micro_batch(k))};
}

PipelineAction StageCourse::update(int k) const {
  return {ActionKind::update, micro_batch(k), 0, is_stream_ ? micro_batch(k) + 1 : 1};
}

// As many micro-batches as there are stages pass through one chunk after the other, then the next ones.
int StageCourse::chunk(int k) const { return shape_.chunks == 1 ? 0 : k % shape_.parts() / shape_.stages; }

int StageCourse::micro_batch(int k) const {
  return shape_.chunks == 1 ? k : k / shape_.parts() * shape_.stages + k % shape_.stages;
}

// Updates that a stage has done before a forward, or that stage 0 had done before it.
int StageCourse::version(int micro_batch) const {
  if (!is_stream_) return 0;
  const int late = shape_.stages - 1 - (shape_.vertical_sync ? 0 : stage_);
  return std::max(0, micro_batch - late);
}

}  // namespace hocket
