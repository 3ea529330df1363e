// All schedules are one: a stage does some forwards ahead, then a forward and a backward by turns, then the
// backwards that are left. They differ in how many forwards are ahead:
//   naive 0, gpipe all (Huang 2019), 1f1b and pipedream as many as there are stages behind (Narayanan 2019),
//   interleaved 2 for each stage behind and a round of all stages for each further chunk (Narayanan 2021).

#include "plan/pipeline_schedule.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/nearest.h"

namespace hocket {
namespace {

constexpr std::array<PipelineSchedule, 5> kSchedules{
    PipelineSchedule::naive, PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b,
    PipelineSchedule::interleaved, PipelineSchedule::pipedream};

constexpr int kMostActions = 1 << 24;

int forwards_ahead(PipelineSchedule schedule, const PipelineShape& shape, int stage) {
  const int behind = shape.stages - 1 - stage;
  const int all = shape.micro_batches * shape.chunks;
  switch (schedule) {
    case PipelineSchedule::naive: return 0;
    case PipelineSchedule::gpipe: return all;
    case PipelineSchedule::one_f_one_b:
    case PipelineSchedule::pipedream: return std::min(all, behind);
    case PipelineSchedule::interleaved: break;
  }
  return std::min(all, 2 * behind + (shape.chunks - 1) * shape.stages);
}

// The actions of one stage, numbered: the k-th forward and the k-th backward it does.
class Numbered {
 public:
  Numbered(PipelineSchedule schedule, const PipelineShape& shape, int stage)
      : shape_(shape), is_stream_(schedule == PipelineSchedule::pipedream), stage_(stage) {}

  PipelineAction forward(int k) const {
    return {ActionKind::forward, micro_batch(k), chunk(k), version(micro_batch(k))};
  }
  PipelineAction backward(int k) const {
    return {ActionKind::backward, micro_batch(k), shape_.chunks - 1 - chunk(k), version(micro_batch(k))};
  }
  PipelineAction update(int k) const {
    return {ActionKind::update, micro_batch(k), 0, is_stream_ ? micro_batch(k) + 1 : 1};
  }

 private:
  // As many micro-batches as there are stages pass through one chunk after the other, then the next ones.
  int round() const { return shape_.stages * shape_.chunks; }
  int chunk(int k) const { return shape_.chunks == 1 ? 0 : k % round() / shape_.stages; }
  int micro_batch(int k) const {
    return shape_.chunks == 1 ? k : k / round() * shape_.stages + k % shape_.stages;
  }
  // Updates that a stage has done before a forward, or that stage 0 had done before it.
  int version(int micro_batch) const {
    if (!is_stream_) return 0;
    const int late = shape_.stages - 1 - (shape_.vertical_sync ? 0 : stage_);
    return std::max(0, micro_batch - late);
  }

  const PipelineShape& shape_;
  const bool is_stream_;
  const int stage_;
};

}  // namespace

std::span<const PipelineSchedule> all_pipeline_schedules() { return kSchedules; }

std::string_view name_of(PipelineSchedule schedule) {
  switch (schedule) {
    case PipelineSchedule::naive: return "naive";
    case PipelineSchedule::gpipe: return "gpipe";
    case PipelineSchedule::one_f_one_b: return "1f1b";
    case PipelineSchedule::interleaved: return "interleaved";
    case PipelineSchedule::pipedream: break;
  }
  return "pipedream";
}

std::string_view name_of(ActionKind kind) {
  switch (kind) {
    case ActionKind::forward: return "forward";
    case ActionKind::backward: return "backward";
    case ActionKind::update: break;
  }
  return "update";
}

PipelineSchedule parse_pipeline_schedule(std::string_view text) {
  std::array<std::string_view, kSchedules.size()> names;
  for (std::size_t i = 0; i < names.size(); ++i) {
    names[i] = name_of(kSchedules[i]);
    if (names[i] == text) return kSchedules[i];
  }
  const std::string hint = did_you_mean(text, names);
  throw ConfigError("unknown pipeline schedule '{}'{}", text,
                    hint.empty() ? "; there is: naive, gpipe, 1f1b, interleaved, pipedream" : hint);
}

void check_shape(PipelineSchedule schedule, const PipelineShape& shape) {
  const std::string_view name = name_of(schedule);
  const auto [stages, micro_batches, chunks, vertical_sync] = shape;
  if (stages < 1 || micro_batches < 1 || chunks < 1) {
    throw ConfigError("pipeline {}: {} stages, {} micro-batches and {} chunks; each must be at least 1", name,
                      stages, micro_batches, chunks);
  }
  if (std::int64_t{micro_batches} * chunks > kMostActions || std::int64_t{stages} * chunks > kMostActions) {
    throw ConfigError("pipeline {}: {} stages, {} micro-batches and {} chunks are too many", name, stages,
                      micro_batches, chunks);
  }
  if (vertical_sync && schedule != PipelineSchedule::pipedream) {
    throw ConfigError("pipeline {}: vertical sync is of pipedream, the others have one version", name);
  }
  if (schedule != PipelineSchedule::interleaved) {
    if (chunks != 1) {
      throw ConfigError("pipeline {}: {} chunks a stage, but only interleaved has more than one", name,
                        chunks);
    }
    return;
  }
  if (chunks < 2) throw ConfigError("pipeline interleaved: needs at least 2 chunks a stage, found 1");
  if (micro_batches % stages != 0) {
    throw ConfigError("pipeline interleaved: {} stages do not divide {} micro-batches", stages,
                      micro_batches);
  }
}

std::vector<PipelineAction> pipeline_actions(PipelineSchedule schedule, const PipelineShape& shape,
                                             int stage) {
  check_shape(schedule, shape);
  HOCKET_CHECK(stage >= 0 && stage < shape.stages, "stage {} of {}", stage, shape.stages);
  const Numbered numbered(schedule, shape, stage);
  const int all = shape.micro_batches * shape.chunks;
  const int ahead = forwards_ahead(schedule, shape, stage);

  std::vector<PipelineAction> actions;
  const auto backward = [&](int k) {
    actions.push_back(numbered.backward(k));
    if (schedule == PipelineSchedule::pipedream || k == all - 1) actions.push_back(numbered.update(k));
  };
  for (int k = 0; k < ahead; ++k) actions.push_back(numbered.forward(k));
  for (int k = ahead; k < all; ++k) {
    actions.push_back(numbered.forward(k));
    backward(k - ahead);
  }
  for (int k = all - ahead; k < all; ++k) backward(k);
  return actions;
}

int most_in_flight(std::span<const PipelineAction> actions, int chunk) {
  int now = 0;
  int most = 0;
  for (const PipelineAction& action : actions) {
    if (action.kind == ActionKind::update || (chunk >= 0 && action.chunk != chunk)) continue;
    now += action.kind == ActionKind::forward ? 1 : -1;
    most = std::max(most, now);
  }
  return most;
}

int most_in_flight(std::span<const PipelineAction> actions) { return most_in_flight(actions, -1); }

int versions_kept(std::span<const PipelineAction> actions) {
  std::map<int, std::size_t> last_use;
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].kind != ActionKind::update) last_use[actions[i].version] = i;
  }
  int newest = 0;
  int most = 1;
  auto oldest = last_use.begin();
  for (std::size_t i = 0; i < actions.size(); ++i) {
    if (actions[i].kind == ActionKind::update) newest = actions[i].version;
    while (oldest != last_use.end() && oldest->second <= i) ++oldest;
    if (oldest != last_use.end()) most = std::max(most, newest - oldest->first + 1);
  }
  return most;
}

}  // namespace hocket
