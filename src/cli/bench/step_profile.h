#pragma once

#include <string>

#include "cli/bench/step_loop.h"

namespace hocket {

// Where the time of a step goes: a line per node, the slowest first, then the sums by operator. Each figure
// is the least of `steps` steps: what the node takes when nothing else disturbs the machine.
std::string profile_text(StepLoop& loop, const StepSetup& setup, int steps);

}  // namespace hocket
