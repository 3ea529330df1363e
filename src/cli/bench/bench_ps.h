#pragma once

#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"

namespace hocket {

// `hocket bench ps`: what workers push to and pull from servers, by turns with what the shared-memory
// transport moves in messages of the same size, or of 1 MiB. Returns an ExitCode.
int run_ps_bench(const Arguments& arguments);

std::vector<Option> ps_bench_options();

}  // namespace hocket
