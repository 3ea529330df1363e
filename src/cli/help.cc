#include "cli/help.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "cli/version.h"

namespace hocket {
namespace {

constexpr std::size_t kWidth = 100;

std::string left_column(const Option& option) {
  if (option.takes == Option::Takes::nothing) return "--" + option.flag;
  const std::string value =
      option.takes == Option::Takes::optional_value ? "[" + option.value + "]" : option.value;
  return fmt::format("--{} {}", option.flag, value);
}

// `text` in lines of at most kWidth, all but the first after `indent` blanks.
std::string wrapped(std::string_view text, std::size_t indent) {
  std::string result;
  std::size_t column = indent;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    if (column > indent && column + 1 + end > kWidth) {
      result += '\n' + std::string(indent, ' ');
      column = indent;
    } else if (column > indent) {
      result += ' ';
      ++column;
    }
    result += text.substr(0, end);
    column += end;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return result;
}

std::vector<std::string> groups_of(const Command& command) {
  std::vector<std::string> groups;
  for (const Option& option : command.options) {
    if (std::find(groups.begin(), groups.end(), option.group) == groups.end()) groups.push_back(option.group);
  }
  return groups;
}

std::string examples_text(const std::vector<std::string>& examples) {
  std::string text = "\nexamples:\n";
  for (const std::string& example : examples) text += fmt::format("  {}\n", example);
  return text;
}

}  // namespace

std::string program_help(std::span<const Command> commands) {
  std::string text = fmt::format(
      "hocket {}: trains one model with many workers\n\nusage: hocket COMMAND [options]\n\n", kVersion);
  std::vector<std::string> examples;
  for (const Command& command : commands) {
    text += fmt::format("  {:<9} {}\n", command.name, command.summary);
    if (!command.examples.empty()) examples.push_back(command.examples.front());
  }
  return text + examples_text(examples) + "\nhocket COMMAND --help shows the options of a command.\n";
}

std::string command_help(const Command& command) {
  std::string text = fmt::format("hocket {}: {}\n\n", command.name, command.summary);
  for (std::size_t i = 0; i < command.usages.size(); ++i) {
    text += fmt::format("{} hocket {} {}\n", i == 0 ? "usage:" : "      ", command.name, command.usages[i]);
  }
  std::size_t width = 0;
  for (const Option& option : command.options) width = std::max(width, left_column(option).size());
  for (const std::string& group : groups_of(command)) {
    text += fmt::format("\n{}:\n", group);
    for (const Option& option : command.options) {
      if (option.group != group) continue;
      text += fmt::format("  {:<{}}  {}\n", left_column(option), width, wrapped(option.help, width + 4));
    }
  }
  return text + (command.examples.empty() ? "" : examples_text(command.examples));
}

}  // namespace hocket
