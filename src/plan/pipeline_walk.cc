#include "plan/pipeline_walk.h"

namespace hocket {

std::vector<PipelineActions> all_pipeline_actions(PipelineSchedule schedule, const PipelineShape& shape) {
  check_shape(schedule, shape);
  std::vector<PipelineActions> actions;
  actions.reserve(static_cast<std::size_t>(shape.stages));
  for (int stage = 0; stage < shape.stages; ++stage) {
    actions.push_back(pipeline_actions(schedule, shape, stage));
  }
  return actions;
}

PipelineWalk::PipelineWalk(const PipelineShape& shape, std::span<const PipelineActions> actions, int capacity)
    : shape_(shape), actions_(actions), capacity_(capacity), cursors_(actions.size()) {
  const auto channels = static_cast<std::size_t>(shape.parts() - 1);
  down_.resize(channels);
  up_.resize(channels);
}

std::size_t PipelineWalk::next(int stage) const { return cursors_[static_cast<std::size_t>(stage)].next; }

bool PipelineWalk::is_sending(int stage) const {
  return cursors_[static_cast<std::size_t>(stage)].is_sending;
}

PipelineWalk::Channel* PipelineWalk::input_of(int stage, const PipelineAction& action) {
  const auto part = static_cast<std::size_t>(part_of(stage, action.chunk));
  if (action.kind == ActionKind::forward && part > 0) return &down_[part - 1];
  if (action.kind == ActionKind::backward && part < up_.size()) return &up_[part];
  return nullptr;
}

PipelineWalk::Channel* PipelineWalk::output_of(int stage, const PipelineAction& action) {
  const auto part = static_cast<std::size_t>(part_of(stage, action.chunk));
  if (action.kind == ActionKind::forward && part < down_.size()) return &down_[part];
  if (action.kind == ActionKind::backward && part > 0) return &up_[part - 1];
  return nullptr;
}

bool PipelineWalk::try_send(int stage) {
  Cursor& cursor = cursors_[static_cast<std::size_t>(stage)];
  const PipelineAction& action = actions_[static_cast<std::size_t>(stage)][cursor.next - 1];
  Channel& channel = *output_of(stage, action);
  const bool is_bounded = capacity_ != kUnboundedSends && shape_.stages > 1;  // One stage sends nothing.
  if (is_bounded && channel.size() >= static_cast<std::size_t>(capacity_)) return false;
  channel.push_back(action.micro_batch);
  cursor.is_sending = false;
  return true;
}

bool PipelineWalk::try_act(int stage, const Visitor& visit) {
  Cursor& cursor = cursors_[static_cast<std::size_t>(stage)];
  const PipelineActions& actions = actions_[static_cast<std::size_t>(stage)];
  if (cursor.next == actions.size()) return false;
  const PipelineAction& action = actions[cursor.next];
  if (Channel* input = input_of(stage, action)) {
    if (input->empty() || input->front() != action.micro_batch) return false;
    input->pop_front();
  }
  if (visit) visit(stage, action);
  ++cursor.next;
  cursor.is_sending = output_of(stage, action) != nullptr;
  return true;
}

void PipelineWalk::run(const Visitor& visit) {
  for (bool moved = true; moved;) {
    moved = false;
    for (int stage = 0; stage < shape_.stages; ++stage) {
      while (is_sending(stage) ? try_send(stage) : try_act(stage, visit)) moved = true;
    }
  }
}

bool PipelineWalk::is_complete() const {
  for (std::size_t stage = 0; stage < cursors_.size(); ++stage) {
    if (cursors_[stage].is_sending || cursors_[stage].next != actions_[stage].size()) return false;
  }
  return true;
}

}  // namespace hocket
