#pragma once

#include <vector>

#include "cli/command.h"

// The verbs of `hocket jobs`. Each returns an ExitCode and throws Error; its options stand in the command's
// help.
namespace hocket {

int run_jobs_simulate(const Arguments& arguments);
std::vector<Option> jobs_simulate_options();

// The value of an option that is a time, as in 10m. Throws ConfigError.
double seconds_of(const Arguments& arguments, std::string_view flag, double fallback);
double parse_seconds(const std::string& text, std::string_view flag);

}  // namespace hocket
