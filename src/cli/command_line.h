#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace hocket {

// Splits what follows the name of `command` into options and words; of a command that takes a program, what
// follows `--` are words. `--help` is in the result when it was
// typed, whatever else is wrong. Throws ConfigError for an unknown option, naming the nearest one, and for a
// missing value.
Arguments parse_arguments(const Command& command, std::span<const std::string> typed);

}  // namespace hocket
