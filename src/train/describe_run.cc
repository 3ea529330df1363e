#include "train/describe_run.h"

#include <fmt/format.h>

#include "tensor/kernels/threads.h"
#include "train/peer_sync.h"
#include "train/straggler.h"

namespace hocket {
namespace {

std::string describe_workers(const TrainOptions& options, const Team& team, const std::string& agreeing) {
  const int threads = kernel::num_threads();
  const std::string each = fmt::format("{} thread{}", threads, threads == 1 ? "" : "s");
  if (team.is_alone()) return each;
  const bool has_driver = has_peers(options, team) && Discipline::parse(options.sync).has_driver();
  const int workers = has_driver ? place_of_worker(options, team).share.count : team.size();
  return fmt::format("{} workers{} over {}, {} each{}{}", workers, has_driver ? " and a driver" : "",
                     team.transport(), each, agreeing.empty() ? "" : ", ", agreeing);
}

}  // namespace

std::string describe_run(const TrainOptions& options, const SessionData& data, const Session& session,
                         const Team& team, const std::string& agreeing) {
  const DataInfo& info = data.train->info();
  return fmt::format(
      "{} ({} parameters) on {} ({} samples, {} held out), batch {}, {} {:.4g}, {} steps, {}{}",
      options.model, session.parameter_count(), info.name, info.size,
      data.held_out == nullptr ? 0 : data.held_out->info().size, options.batch, options.optimizer.rule,
      options.learning_rate, options.steps, describe_workers(options, team, agreeing),
      is_emulated(options) ? ", emulated" : "");
}

}  // namespace hocket
