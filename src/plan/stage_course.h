#pragma once

#include <optional>

#include "plan/pipeline_schedule.h"

namespace hocket {

// The actions of one stage, one after the other, where micro-batches may enter on the way: an endless stream
// is one that gets its next micro-batches before it has none left to go forward with. What has entered when
// next() first returns nothing is a whole pipeline_actions(). A value type.
class StageCourse {
 public:
  // Of `shape` the micro-batches count only where they decide how many forwards are ahead: of gpipe.
  StageCourse(PipelineSchedule schedule, const PipelineShape& shape, int stage);

  void enter(int micro_batches) { entered_ += micro_batches * shape_.chunks; }
  // Whether a forward is due that no micro-batch has entered for: then the stream has to go on, or it drains.
  bool is_hungry() const;
  std::optional<PipelineAction> next();  // None: all that have entered are through.

 private:
  bool wants_forward() const { return !owes_update_ && forwards_ - backwards_ <= ahead_; }
  PipelineAction forward(int k) const;
  PipelineAction backward(int k) const;
  PipelineAction update(int k) const;
  int chunk(int k) const;
  int micro_batch(int k) const;
  int version(int micro_batch) const;

  PipelineShape shape_;
  bool is_stream_;
  int stage_;
  int ahead_;  // Forwards before the first backward.
  int entered_ = 0;
  int forwards_ = 0;
  int backwards_ = 0;
  bool owes_update_ = false;
};

}  // namespace hocket
