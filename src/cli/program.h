#pragma once

#include <span>
#include <string>
#include <vector>

#include "cli/command.h"

namespace hocket {

// Finds the command that was typed, runs it, and turns what it throws into one line on standard error and an
// ExitCode. `typed` is the command line without the program's name.
int run_program(std::span<const Command> commands, const std::vector<std::string>& typed);

}  // namespace hocket
