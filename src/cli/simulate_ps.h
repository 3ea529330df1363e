#pragma once

#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"

namespace hocket {

// `hocket simulate ps`: clusters of a parameter server under virtual time, one a seed. Returns kFailed when a
// seed violated what must hold; each such seed is shown with the command that replays it.
int run_simulate_ps(const Arguments& arguments);

std::vector<Option> simulate_ps_options();

}  // namespace hocket
