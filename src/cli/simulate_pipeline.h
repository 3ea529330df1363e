#pragma once

#include <vector>

#include "cli/arguments.h"
#include "cli/command.h"

namespace hocket {

// `hocket simulate pipeline`: a schedule drawn as text, or as JSON with the time of every action.
int run_simulate_pipeline(const Arguments& arguments);

std::vector<Option> simulate_pipeline_options();

}  // namespace hocket
