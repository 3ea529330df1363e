#pragma once

#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"

namespace hocket {

// `hocket bench collectives`: measures, or shows a schedule, and prints. Returns an ExitCode.
int run_collectives_bench(const Arguments& arguments);

std::vector<Option> collectives_bench_options();

}  // namespace hocket
