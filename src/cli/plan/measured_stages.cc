#include "cli/plan/measured_stages.h"

#include <algorithm>

#include "base/error.h"
#include "cli/plan/plan_search.h"
#include "net/world.h"
#include "tensor/kernels/threads.h"
#include "train/pipeline_plan.h"
#include "train/session.h"

namespace hocket {

bool wants_measured_stages(const TrainOptions& options) { return options.stages == "measured"; }

std::string measured_stages(const TrainOptions& given) {
  const SessionData data = open_session_data(given);
  const TrainOptions options = with_defaults(given, data.train->info());
  const Mesh mesh = Mesh::parse(options.mesh, options.workers);
  if (mesh.size_of("pp") < 2) throw ConfigError("--stages measured needs a pipeline, such as --mesh pp=2");
  const PipelinePlan pipeline = PipelinePlan::parse(options, mesh);
  PipelineRequest request;
  request.stages = pipeline.ranks;
  request.replicas = mesh.size() / pipeline.ranks;
  request.batch = options.batch;
  request.micro_batches = options.micro_batches;
  request.chunks = pipeline.chunks;
  request.schedule = pipeline.schedule;

  const int threads = options.threads > 0 ? options.threads : std::max(1, usable_cores() / mesh.size());
  kernel::set_num_threads(threads);
  const auto samples = std::max<std::int64_t>(1, static_cast<std::int64_t>(request.samples()));
  const MeasuredModel model = measure_model(options, *data.train, samples);
  const ClusterModel cluster{
      open_topology(options.emulate_net.empty() ? "this" : options.emulate_net, mesh.size()),
      std::vector<RankLimits>(static_cast<std::size_t>(mesh.size()))};
  return best_stages(model, cluster, request);
}

}  // namespace hocket
