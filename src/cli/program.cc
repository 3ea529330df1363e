#include "cli/program.h"

#include <new>
#include <string_view>

#include "base/error.h"
#include "base/nearest.h"
#include "cli/command_line.h"
#include "cli/exit_code.h"
#include "cli/help.h"
#include "cli/terminal.h"
#include "cli/version.h"

namespace hocket {
namespace {

const Command& find_command(std::span<const Command> commands, const std::string& name) {
  std::vector<std::string_view> names{"help", "--help", "--version"};
  for (const Command& command : commands) {
    if (command.name == name) return command;
    names.push_back(command.name);
  }
  const std::string hint = did_you_mean(name, names);
  throw ConfigError("unknown command {}{}", name, hint.empty() ? "; hocket --help lists the commands" : hint);
}

int run_command(const Command& command, std::span<const std::string> typed) {
  const Arguments arguments = parse_arguments(command, typed);
  if (!arguments.has("help")) return command.run(arguments);
  write_output(command_help(command));
  return kDone;
}

int dispatch(std::span<const Command> commands, const std::vector<std::string>& typed) {
  const std::string name = typed.empty() ? "--help" : typed.front();
  if (name == "--version") {
    write_output(fmt::format("hocket {}\n", kVersion));
    return kDone;
  }
  if (name == "--help" || name == "-h" || name == "help") {
    write_output(typed.size() > 1 ? command_help(find_command(commands, typed[1])) : program_help(commands));
    return kDone;
  }
  return run_command(find_command(commands, name), std::span(typed).subspan(1));
}

int fail(std::string_view message, int code) {
  write_message(fmt::format("hocket: {}", message));
  return code;
}

}  // namespace

int run_program(std::span<const Command> commands, const std::vector<std::string>& typed) {
  try {
    return dispatch(commands, typed);
  } catch (const ConfigError& error) {
    return fail(error.what(), kUsage);
  } catch (const DataError& error) {
    return fail(error.what(), kBadData);
  } catch (const NetError& error) {
    return fail(error.what(), kPeerFailed);
  } catch (const ClosedOutput&) {
    return kFailed;
  } catch (const std::bad_alloc&) {
    return fail("out of memory", kFailed);
  } catch (const std::exception& error) {
    return fail(error.what(), kFailed);
  }
}

}  // namespace hocket
