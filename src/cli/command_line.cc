#include "cli/command_line.h"

#include <CLI/CLI.hpp>
#include <algorithm>

#include "base/error.h"
#include "base/nearest.h"

namespace hocket {
namespace {

void declare(CLI::App& app, const Option& option) {
  const std::string short_form = option.letter == 0 ? "" : fmt::format(",-{}", option.letter);
  const std::string flag = "--" + option.flag + short_form;
  if (option.takes == Option::Takes::nothing) {
    app.add_flag(flag);
    return;
  }
  CLI::Option* declared = app.add_option(flag);
  declared->expected(option.takes == Option::Takes::optional_value ? 0 : 1, 1);
  declared->multi_option_policy(CLI::MultiOptionPolicy::TakeAll);
}

std::string one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

[[noreturn]] void refuse_option(const Command& command, const std::string& typed) {
  const std::string flag = typed.substr(0, typed.find('='));
  std::vector<std::string> flags{"--help"};
  for (const Option& option : command.options) flags.push_back("--" + option.flag);
  const std::vector<std::string_view> known(flags.begin(), flags.end());
  const std::string hint = did_you_mean(flag, known);
  throw ConfigError("{}: unknown option {}{}", command.name, flag,
                    hint.empty() ? fmt::format("; hocket {} --help lists the options", command.name) : hint);
}

Arguments read_back(const CLI::App& app, const Command& command) {
  Arguments arguments;
  for (const Option& option : command.options) {
    const CLI::Option* declared = app.get_option("--" + option.flag);
    if (declared->count() == 0) continue;
    for (const std::string& value : declared->results()) {
      if (value.starts_with("--"))
        throw ConfigError("{}: --{} needs a value, found {}", command.name, option.flag, value);
    }
    arguments.add(option.flag, declared->results());
  }
  for (const std::string& word : app.remaining()) {
    if (word.size() > 1 && word[0] == '-') refuse_option(command, word);
    if (arguments.words().size() == command.max_words) {
      throw ConfigError("{}: unexpected '{}'; hocket {} --help shows the usage", command.name, word,
                        command.name);
    }
    arguments.add_word(word);
  }
  return arguments;
}

}  // namespace

Arguments parse_arguments(const Command& command, std::span<const std::string> all) {
  const auto end = command.takes_program ? std::find(all.begin(), all.end(), "--") : all.end();
  const std::span<const std::string> typed(all.begin(), end);
  if (std::any_of(typed.begin(), typed.end(),
                  [](const auto& word) { return word == "--help" || word == "-h"; })) {
    Arguments arguments;
    arguments.add("help", {});
    return arguments;
  }
  CLI::App app;
  app.set_help_flag();
  app.allow_extras();
  for (const Option& option : command.options) declare(app, option);
  try {
    app.parse(std::vector<std::string>(typed.rbegin(), typed.rend()));  // CLI11 takes the last word first.
  } catch (const CLI::ArgumentMismatch&) {  // Only the last word can miss its value.
    throw ConfigError("{}: {} needs a value", command.name, typed.back());
  } catch (const CLI::ParseError& error) {
    throw ConfigError("{}: {}", command.name, one_line(error.what()));
  }
  Arguments arguments = read_back(app, command);
  arguments.set_typed({all.begin(), all.end()});
  for (auto word = end; word != all.end(); ++word) {
    if (word != end) arguments.add_word(*word);
  }
  return arguments;
}

}  // namespace hocket
