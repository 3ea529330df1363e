#pragma once

#include <span>
#include <string>

#include "cli/command.h"

namespace hocket {

// What `hocket --help` prints: the commands, a line each.
std::string program_help(std::span<const Command> commands);

// What `hocket COMMAND --help` prints: its options by group, with examples.
std::string command_help(const Command& command);

}  // namespace hocket
