#include "train/pipeline_plan.h"

#include "base/error.h"
#include "base/spec.h"

namespace hocket {
namespace {

// All forwards, chunk by chunk, then all backwards: fits any number of micro-batches.
std::vector<PipelineAction> chunk_by_chunk(int micro_batches, int chunks) {
  std::vector<PipelineAction> actions;
  for (int chunk = 0; chunk < chunks; ++chunk) {
    for (int m = 0; m < micro_batches; ++m) actions.push_back({ActionKind::forward, m, chunk, 0});
  }
  for (int chunk = chunks - 1; chunk >= 0; --chunk) {
    for (int m = 0; m < micro_batches; ++m) actions.push_back({ActionKind::backward, m, chunk, 0});
  }
  actions.push_back({ActionKind::update, micro_batches - 1, 0, 1});
  return actions;
}

void require_even(const TrainOptions& options, const Mesh& mesh) {
  const std::int64_t parts = std::int64_t{mesh.size_of("dp")} * options.micro_batches;
  if (options.batch % parts == 0) return;
  throw ConfigError(
      "batch {} cannot be cut evenly in {} micro-batches{}", options.batch, options.micro_batches,
      mesh.size_of("dp") > 1 ? fmt::format(" for each of {} replicas", mesh.size_of("dp")) : "");
}

}  // namespace

PipelinePlan PipelinePlan::parse(const TrainOptions& options, const Mesh& mesh) {
  const Spec spec = Spec::parse("schedule", options.schedule.empty() ? "1f1b" : options.schedule);
  PipelinePlan plan;
  plan.schedule = parse_pipeline_schedule(spec.name);
  plan.ranks = mesh.size_of("pp");
  const bool interleaves = plan.schedule == PipelineSchedule::interleaved;
  SpecOptions::Defaults defaults;
  if (interleaves) defaults = {{"chunks", "2"}};
  if (plan.is_stream()) defaults = {{"vertical", "0"}};
  const SpecOptions settings("schedule", spec, defaults);
  if (interleaves) plan.chunks = static_cast<int>(settings.integer("chunks"));
  if (plan.is_stream()) plan.vertical_sync = settings.integer("vertical") != 0;
  if (plan.ranks == 1 && interleaves)
    throw ConfigError("schedule {} needs stages, such as --mesh pp=2", options.schedule);
  if (plan.chunks > 1 && options.zero == 3)
    throw ConfigError("schedule {} does not go with zero 3: gathering knows no chunks", options.schedule);
  if (plan.ranks > 1 || plan.is_stream()) require_even(options, mesh);
  check_shape(plan.schedule, {plan.ranks, options.micro_batches, plan.chunks, plan.vertical_sync});
  return plan;
}

std::vector<PipelineAction> PipelinePlan::actions(int micro_batches, int stage) const {
  if (schedule == PipelineSchedule::interleaved && micro_batches % ranks != 0)
    return chunk_by_chunk(micro_batches, chunks);
  return pipeline_actions(schedule, {ranks, micro_batches, chunks, vertical_sync}, stage);
}

}  // namespace hocket
