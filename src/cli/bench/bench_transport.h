#pragma once

#include "cli/arguments.h"

namespace hocket {

// `hocket bench transport`: half a round trip between two ranks, for each transport and size, beside a copy
// in memory, which no transport beats. Returns an ExitCode.
int run_transport_bench(const Arguments& arguments);

}  // namespace hocket
