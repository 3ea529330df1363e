#pragma once

#include <string>
#include <vector>

namespace hocket {

struct ToolResult {
  int exit_code = 0;
  std::string out;
  std::string complaint;  // The last line on standard error, without what every line begins with.
};

// Runs a program, with a short text on its standard input, and waits for it. Throws ConfigError when it is
// not there and Error when it takes more than half a minute, as when Slurm's controller is away.
ToolResult run_tool(const std::vector<std::string>& words, const std::string& input = "");

// What it printed. Throws Error with its complaint when it failed.
std::string output_of(const std::vector<std::string>& words, const std::string& input = "");

}  // namespace hocket
