#include "plan/pipeline_schedule.h"

#include <algorithm>
#include <array>
#include <map>

#include "base/error.h"
#include "base/nearest.h"
#include "plan/stage_course.h"

namespace hocket {
namespace {

constexpr std::array<PipelineSchedule, 5> kSchedules{
    PipelineSchedule::naive, PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b,
    PipelineSchedule::interleaved, PipelineSchedule::pipedream};

constexpr int kMostActions = 1 << 24;

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
  StageCourse course(schedule, shape, stage);
  course.enter(shape.micro_batches);
  std::vector<PipelineAction> actions;
  while (const std::optional<PipelineAction> action = course.next()) actions.push_back(*action);
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
