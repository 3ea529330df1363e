#include "plan/pipeline_checker.h"

#include <fmt/format.h>

#include <algorithm>

namespace hocket {
namespace {

using Fault = std::optional<std::string>;

constexpr int kNone = -1;

std::string text_of(const PipelineAction& action) {
  return fmt::format("{} of micro-batch {} in chunk {} with version {}", name_of(action.kind),
                     action.micro_batch, action.chunk, action.version);
}

// Follows the actions of one stage, each checked against all before it.
class StageCheck {
 public:
  StageCheck(PipelineSchedule schedule, const PipelineShape& shape, int stage)
      : is_stream_(schedule == PipelineSchedule::pipedream),
        wants_newest_(!shape.vertical_sync || stage == 0),
        shape_(shape),
        chunks_(static_cast<std::size_t>(shape.chunks)) {}

  // What is wrong with this action, empty if nothing.
  std::string_view fault_of(const PipelineAction& action) {
    if (action.chunk < 0 || action.chunk >= shape_.chunks) return "there is no such chunk";
    if (action.kind == ActionKind::update) return fault_of_update(action);
    if (!is_stream_ && version_ > 0) return "comes after the update";
    Chunk& chunk = chunks_[static_cast<std::size_t>(action.chunk)];
    return action.kind == ActionKind::forward ? fault_of_forward(action, chunk)
                                              : fault_of_backward(action, chunk);
  }

  std::string_view fault_at_end() const {
    if (!are_complete(shape_.micro_batches)) return "forwards or backwards are missing";
    return version_ == (is_stream_ ? shape_.micro_batches : 1) ? "" : "an update is missing";
  }

 private:
  struct Chunk {
    std::vector<int> versions;  // Of the forwards so far.
    int backwards = 0;
  };

  bool are_complete(int micro_batches) const {
    return std::all_of(chunks_.begin(), chunks_.end(),
                       [&](const Chunk& chunk) { return chunk.backwards == micro_batches; });
  }

  std::string_view fault_of_forward(const PipelineAction& action, Chunk& chunk) const {
    if (action.micro_batch != static_cast<int>(chunk.versions.size())) return "is out of order";
    if (action.micro_batch >= shape_.micro_batches) return "there is no such micro-batch";
    if (action.version < 0 || action.version > version_) return "these weights are not there yet";
    if (wants_newest_ && action.version != version_) return "these weights are not the newest";
    chunk.versions.push_back(action.version);
    return "";
  }

  std::string_view fault_of_backward(const PipelineAction& action, Chunk& chunk) const {
    if (action.micro_batch != chunk.backwards) return "is out of order";
    if (chunk.backwards >= static_cast<int>(chunk.versions.size())) return "comes before its forward";
    if (is_stream_ && chunk.backwards > version_) return "comes before the update of the last one";
    if (action.version != chunk.versions[static_cast<std::size_t>(action.micro_batch)]) {
      return "its forward had other weights";
    }
    ++chunk.backwards;
    return "";
  }

  std::string_view fault_of_update(const PipelineAction& action) {
    if (action.version != version_ + 1) return "makes the wrong version";
    const int needed = is_stream_ ? action.version : shape_.micro_batches;
    if (!are_complete(needed)) return "gradients are missing";
    if (action.micro_batch != needed - 1) return "this is not the last micro-batch in it";
    version_ = action.version;
    return "";
  }

  const bool is_stream_;
  const bool wants_newest_;
  const PipelineShape shape_;
  std::vector<Chunk> chunks_;
  int version_ = 0;
};

Fault find_stage_fault(PipelineSchedule schedule, const PipelineShape& shape, int stage,
                       const PipelineActions& actions) {
  StageCheck check(schedule, shape, stage);
  for (std::size_t i = 0; i < actions.size(); ++i) {
    const std::string_view fault = check.fault_of(actions[i]);
    if (!fault.empty()) {
      return fmt::format("stage {}, action {}, {}: {}", stage, i, text_of(actions[i]), fault);
    }
  }
  const std::string_view fault = check.fault_at_end();
  if (!fault.empty()) return fmt::format("stage {}, at its end: {}", stage, fault);
  return {};
}

// With vertical sync: the version of a micro-batch is that of stage 0 everywhere.
Fault find_version_fault(const PipelineShape& shape, std::span<const PipelineActions> actions) {
  std::vector<int> versions(static_cast<std::size_t>(shape.micro_batches), kNone);
  for (std::size_t stage = 0; stage < actions.size(); ++stage) {
    for (const PipelineAction& action : actions[stage]) {
      if (action.kind != ActionKind::forward) continue;
      int& version = versions[static_cast<std::size_t>(action.micro_batch)];
      if (version == kNone) version = action.version;
      if (version != action.version) {
        return fmt::format("stage {}, {}: stage 0 has version {}", stage, text_of(action), version);
      }
    }
  }
  return {};
}

Fault find_deadlock(const PipelineShape& shape, std::span<const PipelineActions> actions, int capacity) {
  PipelineWalk walk(shape, actions, capacity);
  walk.run();
  if (walk.is_complete()) return {};
  for (int stage = 0; stage < shape.stages; ++stage) {
    const PipelineActions& own = actions[static_cast<std::size_t>(stage)];
    const std::size_t next = walk.next(stage);
    if (walk.is_sending(stage)) {
      return fmt::format("stage {}, action {}, {}: its message never finds room", stage, next - 1,
                         text_of(own[next - 1]));
    }
    if (next < own.size()) {
      return fmt::format("stage {}, action {}, {}: waits for ever", stage, next, text_of(own[next]));
    }
  }
  return {};
}

}  // namespace

Fault find_fault(PipelineSchedule schedule, const PipelineShape& shape,
                 std::span<const PipelineActions> actions, int capacity) {
  if (static_cast<int>(actions.size()) != shape.stages) {
    return fmt::format("{} stages, but actions of {}", shape.stages, actions.size());
  }
  for (int stage = 0; stage < shape.stages; ++stage) {
    Fault fault = find_stage_fault(schedule, shape, stage, actions[static_cast<std::size_t>(stage)]);
    if (fault) return fault;
  }
  if (shape.vertical_sync) {
    if (Fault fault = find_version_fault(shape, actions)) return fault;
  }
  return find_deadlock(shape, actions, capacity);
}

Fault find_fault(PipelineSchedule schedule, const PipelineShape& shape, int capacity) {
  return find_fault(schedule, shape, all_pipeline_actions(schedule, shape), capacity);
}

}  // namespace hocket
