#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "cli/arguments.h"
#include "cli/emulated_net.h"
#include "net/environment.h"
#include "train/options.h"
#include "train/team.h"

namespace hocket {

// Whether `hocket train`, started as `environment` tells, has to start its workers itself. Throws ConfigError
// where workers, mesh and the job that it is a rank of contradict each other.
bool must_launch(const TrainOptions& options, const Environment& environment);

// Starts this command line, with `more` behind it, once per worker and waits for their end. When one of them
// dies, by a signal or because the network failed, starts them anew with --resume, up to options.restarts
// times. Returns an ExitCode.
int launch_workers(const TrainOptions& options, const Arguments& arguments,
                   const std::vector<std::string>& more);

// A worker of a run, and the links between all of them where these are emulated.
struct Workers {
  std::unique_ptr<EmulatedNet> links{};  // Outlives the team.
  Team team{};
};

// Meets the other workers, if there are any. Unless the number of threads was given, the workers of a host
// then divide its cores and keep to them. Throws what join_job() throws.
Workers join_workers(const TrainOptions& options, const Environment& environment);

// One line where ranks along tp, which talk most, are not on one host; else nothing. `hosts` is by rank.
std::string warning_of_spread(const Mesh& mesh, std::span<const int> hosts);

}  // namespace hocket
