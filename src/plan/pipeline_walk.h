#pragma once

#include <cstddef>
#include <deque>
#include <functional>
#include <span>
#include <vector>

#include "plan/pipeline_schedule.h"

namespace hocket {

using PipelineActions = std::vector<PipelineAction>;

// The actions of all stages, stage by stage.
std::vector<PipelineActions> all_pipeline_actions(PipelineSchedule schedule, const PipelineShape& shape);

constexpr int kUnboundedSends = 0;

// Takes the stages through their actions in an order in which nothing comes before what it waits for. A
// forward waits for that of the part before, a backward for that of the part behind; both arrive in the order
// sent. Between two parts of different ranks lie at most `capacity` messages each way: a stage whose message
// finds no room goes no further. Whether and where the stages stop does not depend on who is moved first.
class PipelineWalk {
 public:
  PipelineWalk(const PipelineShape& shape, std::span<const PipelineActions> actions, int capacity);

  using Visitor = std::function<void(int stage, const PipelineAction& action)>;
  void run(const Visitor& visit = {});

  bool is_complete() const;
  std::size_t next(int stage) const;  // The stage's first action that was not done.
  bool is_sending(int stage) const;   // The action before it is still without room for its message.
  int part_of(int stage, int chunk) const { return chunk * shape_.stages + stage; }

 private:
  using Channel = std::deque<int>;  // The micro-batches of the messages under way.
  struct Cursor {
    std::size_t next = 0;
    bool is_sending = false;
  };

  Channel* input_of(int stage, const PipelineAction& action);
  Channel* output_of(int stage, const PipelineAction& action);
  bool try_send(int stage);
  bool try_act(int stage, const Visitor& visit);

  PipelineShape shape_;
  std::span<const PipelineActions> actions_;
  int capacity_;
  std::vector<Cursor> cursors_;
  std::vector<Channel> down_;  // From part p to p + 1.
  std::vector<Channel> up_;    // From part p + 1 to p.
};

}  // namespace hocket
