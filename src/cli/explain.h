#pragma once

#include <vector>

#include "cli/command.h"
#include "net/environment.h"
#include "train/options.h"

namespace hocket {

// --explain and --topology.
std::vector<Option> explain_options();

// Throws ConfigError for options that mean nothing without --explain.
void require_explain(const Arguments& arguments);

// `hocket train --explain`: prints how the step would be cut, what it would communicate and why, what that
// would take on a topology, and what a rank would keep. Trains nothing, starts nobody. Returns an ExitCode;
// throws what a run would throw at its start.
int explain_run(const TrainOptions& options, const Environment& environment, const Arguments& arguments);

}  // namespace hocket
