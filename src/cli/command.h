#pragma once

#include <string>
#include <vector>

#include "cli/arguments.h"

namespace hocket {

// One option of a command, as the command line and its help know it.
struct Option {
  enum class Takes { nothing, value, optional_value };

  std::string flag;   // Without the dashes.
  std::string value;  // What the help writes for its value; empty for a switch.
  std::string help;
  std::string group = "options";
  Takes takes = value.empty() ? Takes::nothing : Takes::value;
  char letter = 0;  // A short form, as in -n.
};

// A subcommand: what it accepts, what its help says, and what it does. A value type.
struct Command {
  std::string name;
  std::string summary;              // One line in the list of commands.
  std::vector<std::string> usages;  // What follows "hocket NAME".
  std::vector<Option> options;
  std::vector<std::string> examples;
  std::size_t max_words = 0;                         // How many words may follow that belong to no option.
  bool takes_program = false;                        // All after -- are words, whatever they look like.
  int (*run)(const Arguments& arguments) = nullptr;  // Returns an ExitCode; throws Error.
};

// Options that several commands share, in the order to show them.
std::vector<Option> settings_options();  // --config and --set
std::vector<Option> output_options();    // --json, --quiet and --help

}  // namespace hocket
