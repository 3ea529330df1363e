#include "cli/launch/agent_calls.h"

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <sys/wait.h>

#include <filesystem>
#include <sstream>

#include "base/error.h"
#include "cli/launch/agent_message.h"
#include "cli/launch/remote_ranks.h"
#include "cli/terminal.h"
#include "net/job_key.h"
#include "net/tcp_stream.h"
#include "net/tls_stream.h"

namespace hocket {
namespace {

constexpr Seconds kByHandTimeout{3600.0};
constexpr Seconds kCallLook{0.02};

std::vector<std::string> split_words(const std::string& text) {
  std::istringstream in(text);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

std::vector<std::string> agent_words(const LaunchOptions& options, const RankCommand& command,
                                     std::size_t host) {
  std::vector<std::string> words{std::filesystem::read_symlink("/proc/self/exe").string(),
                                 "launch",
                                 "--agent",
                                 to_string(command.coordinator),
                                 "--host",
                                 std::to_string(host)};
  if (options.plaintext) words.emplace_back("--plaintext");
  return words;
}

// The key goes by standard input, so that no command line shows it.
RankProcess call_agent(const LaunchOptions& options, const RankCommand& command, const JobKey& key,
                       std::size_t host) {
  ProcessOptions process;
  process.words = split_words(options.ssh);
  if (process.words.empty()) throw ConfigError("launch: --ssh needs a command");
  process.words.push_back(options.hosts[host].host);
  for (std::string& word : agent_words(options, command, host)) process.words.push_back(std::move(word));
  process.environment = this_environment();
  process.pipes_output = true;
  process.input = to_hex(key);
  process.input += '\n';
  return start_process(process);
}

void print_call(const LaunchOptions& options, const RankCommand& command, std::size_t host) {
  write_message(fmt::format("hocket: on {} type: {} --key-file {}", options.hosts[host].host,
                            fmt::join(agent_words(options, command, host), " "), options.key_file));
}

void check_caller(RankProcess& caller, const std::string& host) {
  pass_on_output(caller);
  int status = 0;
  if (caller.pid < 0 || ::waitpid(caller.pid, &status, WNOHANG) != caller.pid) return;
  caller.pid = -1;
  pass_on_output(caller);
  if (status != 0)
    throw NetError("launch: the agent on host {} did not start: its ssh {}", host, exit_text(status));
}

// The connection of a host's agent, with signals and the death of its ssh noticed meanwhile.
FileDescriptor await_call(AgentCalls& calls, int host, bool& is_encrypted, RankProcess& caller,
                          const LaunchOptions& options, TimePoint deadline, SignalsToPoll& signals) {
  const std::string& name = options.hosts[static_cast<std::size_t>(host)].host;
  while (true) {
    FileDescriptor socket = calls.take(host, is_encrypted);
    if (socket.is_open()) return socket;
    check_caller(caller, name);
    if (Clock::now() >= deadline) throw NetError("launch: the agent on host {} does not call", name);
    wait_for(signals.fd(), POLLIN, after(kCallLook));
    if (const auto number = signals.take())
      throw NetError("launch: signal {} while waiting for hosts", *number);
  }
}

}  // namespace

void AgentCalls::put(Accepted accepted) {
  if (accepted.hello.purpose != Purpose::agent) return;
  const std::lock_guard lock(mutex_);
  const int host = static_cast<int>(accepted.hello.channel);
  calls_.insert_or_assign(host, std::move(accepted));
}

FileDescriptor AgentCalls::take(int host, bool& is_encrypted) {
  const std::lock_guard lock(mutex_);
  const auto found = calls_.find(host);
  if (found == calls_.end()) return {};
  is_encrypted = found->second.hello.is_encrypted;
  FileDescriptor socket = std::move(found->second.socket);
  calls_.erase(found);
  return socket;
}

std::vector<std::unique_ptr<RankSet>> start_remote_ranks(const LaunchOptions& options,
                                                         const RankCommand& command, const JobKey& key,
                                                         AgentCalls& calls, SignalsToPoll& signals) {
  std::map<std::size_t, RankProcess> callers;
  for (std::size_t host = 0; host < options.hosts.size(); ++host) {
    if (options.is_here(host)) continue;
    if (options.by_hand || !options.meeting.empty()) {
      if (options.by_hand) print_call(options, command, host);
      callers.emplace(host, RankProcess{});
    } else {
      callers.emplace(host, call_agent(options, command, key, host));
    }
  }
  const TimePoint deadline = after(options.by_hand ? kByHandTimeout : kAgentCallTimeout);
  std::vector<std::unique_ptr<RankSet>> sets;
  for (auto& [host, caller] : callers) {
    bool is_encrypted = false;
    FileDescriptor socket =
        await_call(calls, static_cast<int>(host), is_encrypted, caller, options, deadline, signals);
    std::unique_ptr<Stream> stream;
    if (is_encrypted) {
      stream = std::make_unique<TlsStream>(std::move(socket), TlsStream::Role::accepting, key);
    } else {
      stream = std::make_unique<TcpStream>(std::move(socket));
    }
    StartRanks start{command, options.hosts[host].ranks};
    start.command.environment = environment_for_other_hosts(command.environment);
    sets.push_back(std::make_unique<RemoteRanks>(options.hosts[host].host, FramedStream(std::move(stream)),
                                                 start, std::move(caller)));
  }
  return sets;
}

}  // namespace hocket
