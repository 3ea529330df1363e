#include <unistd.h>

#include <filesystem>

#include "base/error.h"
#include "cli/commands.h"
#include "cli/launch/launch.h"

namespace hocket {
namespace {

LaunchOptions options_of(const Arguments& arguments) {
  LaunchOptions options;
  options.words = arguments.words();
  if (options.words.empty()) {
    throw ConfigError("launch: which program? Put it after --, as in: hocket launch -n 2 -- ./program");
  }
  const int ranks = static_cast<int>(arguments.integer("ranks", 0, 1, 1 << 16));
  if (!arguments.has("hosts") && ranks == 0)
    throw ConfigError("launch: how many ranks? Give -n N or --hosts LIST");
  options.hosts = parse_hosts(arguments.text("hosts", "localhost:" + std::to_string(ranks)));
  if (ranks != 0 && ranks != options.world_size()) {
    throw ConfigError("launch: -n {} contradicts --hosts, which has {} ranks", ranks, options.world_size());
  }
  options.tags_output = arguments.has("tag-output");
  options.plaintext = arguments.has("plaintext");
  options.address = arguments.text("address");
  options.by_hand = arguments.has("by-hand");
  options.key_file = arguments.text("key-file");
  options.meeting = arguments.text("meeting");
  options.interruption = Seconds(static_cast<double>(arguments.integer(
      "interruption", static_cast<std::int64_t>(options.interruption.count()), 0, 1 << 30)));
  const char* ssh = std::getenv("HOCKET_SSH");
  options.ssh = arguments.text("ssh", ssh == nullptr ? "ssh -o BatchMode=yes" : ssh);
  return options;
}

int run_launch(const Arguments& arguments) {
  if (!arguments.has("agent")) return launch(options_of(arguments));
  AgentOptions options;
  options.launcher = arguments.text("agent");
  options.host = static_cast<int>(arguments.integer("host", 0, 0, 1 << 16));
  options.key_file = arguments.text("key-file", "-");
  options.plaintext = arguments.has("plaintext");
  return run_agent(options);
}

}  // namespace

Command launch_command() {
  Command command;
  command.name = "launch";
  command.summary = "start the ranks of any program, on this host or on several, and end them together";
  command.usages = {"-n N [--tag-output] -- PROGRAM [ARGUMENT...]",
                    "--hosts a:2,b:2 [options] -- PROGRAM [ARGUMENT...]",
                    "--agent ADDRESS:PORT --host I [--key-file FILE]"};
  Option ranks{"ranks", "N", "how many ranks; -n N for short"};
  ranks.letter = 'n';
  const std::string hosts = "several hosts";
  command.options = {
      ranks,
      {"tag-output", "", "begin each line of output with [rank]"},
      {"hosts", "LIST", "hosts with their numbers of ranks: a:2,b:2; others than this one by ssh", hosts},
      {"ssh", "COMMAND", "what starts a program there (HOCKET_SSH, or ssh -o BatchMode=yes)", hosts},
      {"address", "ADDRESS", "of this host, for others to connect to (by the route to them)", hosts},
      {"plaintext", "", "authenticate, but do not encrypt between hosts", hosts},
      {"by-hand", "", "print what to type on the other hosts instead of calling ssh", hosts},
      {"meeting", "FILE", "leave this launcher's address there for agents that others start; needs a key",
       hosts},
      {"interruption", "SECONDS", "how long ranks may take to end after Ctrl-C (15)", hosts},
      {"key-file", "FILE",
       "the job key, 64 hexadecimal digits, mode 0600 (random; an agent: from standard input)", hosts},
      {"agent", "ADDRESS:PORT",
       "be the agent that starts the ranks of a host for the launcher there, or at file:MEETING", hosts},
      {"host", "I", "with --agent: this is the I-th host of the list, counted from 0", hosts},
      {"help", "", "show this", "help"}};
  command.examples = {"hocket launch -n 4 -- hocket doctor --json",
                      "hocket launch --hosts a:2,b:2 -- ./program --option"};
  command.max_words = 0;
  command.takes_program = true;
  command.run = run_launch;
  return command;
}

}  // namespace hocket
