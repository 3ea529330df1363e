#include "plan/pipeline_replay.h"

#include <algorithm>

#include "base/error.h"

namespace hocket {
namespace {

std::size_t as_index(int number) { return static_cast<std::size_t>(number); }

// The clocks of all stages and of the links between parts, moved on action by action.
class Replay {
 public:
  Replay(const PipelineShape& shape, std::span<const PartCost> costs)
      : shape_(shape),
        costs_(costs),
        clocks_(as_index(shape.stages)),
        held_(as_index(shape.stages)),
        down_(as_index(shape.parts()), Link(as_index(shape.micro_batches))),
        up_(as_index(shape.parts()), Link(as_index(shape.micro_batches))) {
    result_.shape = shape;
    result_.busy.resize(as_index(shape.stages));
    result_.peak_activation_bytes.resize(as_index(shape.stages));
  }

  void act(int stage, const PipelineAction& action) {
    Seconds& clock = clocks_[as_index(stage)];
    const Seconds begin = std::max(clock, arrival(stage, action));
    clock = begin + cost(stage, action);
    result_.busy[as_index(stage)] += clock - begin;
    result_.spans.push_back({stage, action, begin, clock});
    if (action.kind == ActionKind::update) return;
    hold(stage, action);
    send(stage, action, clock);
  }

  PipelineReplay finish() {
    for (const Seconds clock : clocks_) result_.time = std::max(result_.time, clock);
    std::stable_sort(result_.spans.begin(), result_.spans.end(),
                     [](const auto& a, const auto& b) { return a.stage < b.stage; });
    return std::move(result_);
  }

 private:
  struct Link {
    explicit Link(std::size_t micro_batches) : arrivals(micro_batches) {}
    std::vector<Seconds> arrivals;
    Seconds free{0};  // When the last message has passed.
  };

  std::size_t part_of(int stage, const PipelineAction& action) const {
    return as_index(action.chunk * shape_.stages + stage);
  }

  Seconds cost(int stage, const PipelineAction& action) const {
    if (action.kind == ActionKind::forward) return costs_[part_of(stage, action)].forward;
    if (action.kind == ActionKind::backward) return costs_[part_of(stage, action)].backward;
    Seconds total{0};
    for (int chunk = 0; chunk < shape_.chunks; ++chunk) {
      total += costs_[as_index(chunk * shape_.stages + stage)].update;
    }
    return total;
  }

  Seconds arrival(int stage, const PipelineAction& action) const {
    if (action.kind == ActionKind::update) return Seconds(0);
    const std::size_t part = part_of(stage, action);
    return (action.kind == ActionKind::forward ? down_ : up_)[part].arrivals[as_index(action.micro_batch)];
  }

  void send(int stage, const PipelineAction& action, Seconds now) {
    const std::size_t part = part_of(stage, action);
    const bool goes_down = action.kind == ActionKind::forward;
    if (part == (goes_down ? as_index(shape_.parts()) - 1 : 0)) return;
    Link& link = goes_down ? down_[part + 1] : up_[part - 1];
    link.free = std::max(link.free, now) + (goes_down ? costs_[part].send_down : costs_[part].send_up);
    link.arrivals[as_index(action.micro_batch)] = link.free;
  }

  void hold(int stage, const PipelineAction& action) {
    const std::int64_t bytes = costs_[part_of(stage, action)].activation_bytes;
    std::int64_t& held = held_[as_index(stage)];
    held += action.kind == ActionKind::forward ? bytes : -bytes;
    std::int64_t& peak = result_.peak_activation_bytes[as_index(stage)];
    peak = std::max(peak, held);
  }

  const PipelineShape shape_;
  const std::span<const PartCost> costs_;
  std::vector<Seconds> clocks_;
  std::vector<std::int64_t> held_;
  std::vector<Link> down_;  // To part p.
  std::vector<Link> up_;    // To part p.
  PipelineReplay result_;
};

// The share of the time from `begin` to `end` in which stages do nothing.
double idle_share(const PipelineReplay& replay, Seconds begin, Seconds end) {
  if (end <= begin) return 0;
  Seconds busy{0};
  for (const PipelineSpan& span : replay.spans) {
    busy += std::max(Seconds(0), std::min(span.end, end) - std::max(span.begin, begin));
  }
  const Seconds all = (end - begin) * replay.shape.stages;
  return std::max(0.0, (all - busy) / all);
}

}  // namespace

double PipelineReplay::bubble() const { return idle_share(*this, Seconds(0), time); }

double PipelineReplay::steady_bubble() const {
  Seconds begin = time;
  Seconds end{0};
  for (const PipelineSpan& span : spans) {
    if (span.stage != 0) break;
    if (span.action.kind == ActionKind::backward) begin = std::min(begin, span.begin);
    if (span.action.kind == ActionKind::forward) end = std::max(end, span.end);
  }
  return idle_share(*this, begin, end);
}

Seconds PipelineReplay::steady_interval() const {
  Seconds first = time;
  Seconds last{0};
  int backwards = 0;
  for (const PipelineSpan& span : spans) {
    if (span.stage != 0 || span.action.kind != ActionKind::backward) continue;
    first = std::min(first, span.begin);
    last = std::max(last, span.begin);
    ++backwards;
  }
  return backwards > 1 ? (last - first) / (backwards - 1) : time;
}

PipelineReplay replay_pipeline(const PipelineShape& shape, std::span<const PipelineActions> actions,
                               std::span<const PartCost> costs) {
  HOCKET_CHECK(static_cast<int>(costs.size()) == shape.parts(), "costs of {} parts for {}", costs.size(),
               shape.parts());
  Replay replay(shape, costs);
  PipelineWalk walk(shape, actions, kUnboundedSends);
  walk.run([&](int stage, const PipelineAction& action) { replay.act(stage, action); });
  if (!walk.is_complete()) throw Error("pipeline: stages wait for each other for ever");
  return replay.finish();
}

PipelineReplay replay_pipeline(PipelineSchedule schedule, const PipelineShape& shape,
                               std::span<const PartCost> costs) {
  return replay_pipeline(shape, all_pipeline_actions(schedule, shape), costs);
}

double ideal_bubble(PipelineSchedule schedule, const PipelineShape& shape) {
  const double behind = shape.stages - 1;
  switch (schedule) {
    case PipelineSchedule::naive: return behind / shape.stages;
    case PipelineSchedule::pipedream: return 0;
    default: return behind / (shape.chunks * shape.micro_batches + behind);
  }
}

}  // namespace hocket
