#pragma once

#include <string>
#include <vector>

#include "net/clock.h"

namespace hocket {

struct ToolResult {
  int exit_code = 0;
  std::string out;
  std::string complaint;  // In one line; empty when the exit code is 0.
};

// Runs a program, with a short text on its standard input, and waits for it. One that does not end within
// `patience`, as when Slurm's controller is away, is killed. Throws ConfigError when there is no such
// program.
ToolResult run_tool(const std::vector<std::string>& words, const std::string& input = "",
                    Seconds patience = Seconds(30));

// What it printed. Throws Error with its complaint when it failed.
std::string output_of(const std::vector<std::string>& words, const std::string& input = "");

}  // namespace hocket
