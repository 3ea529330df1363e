#include "cli/launch/launch.h"

#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "cli/launch/agent_calls.h"
#include "cli/launch/guard.h"
#include "cli/launch/key_file.h"
#include "cli/launch/launcher.h"
#include "cli/launch/local_ranks.h"
#include "net/coordinator_server.h"
#include "net/job_key.h"
#include "train/file_system.h"

namespace hocket {
namespace {

// How long the coordinator waits to hear from the launcher what killed a rank.
constexpr Seconds kCauseGrace{0.1};

const HostRanks* first_other_host(const LaunchOptions& options) {
  for (std::size_t host = 0; host < options.hosts.size(); ++host) {
    if (!options.is_here(host)) return &options.hosts[host];
  }
  return nullptr;
}

// Loopback as long as all ranks are here.
std::string address_for(const LaunchOptions& options) {
  if (!options.address.empty()) return options.address;
  const HostRanks* other = first_other_host(options);
  return other == nullptr ? "127.0.0.1" : local_address_towards(resolve(other->host).front());
}

void check(const LaunchOptions& options) {
  if (!options.meeting.empty() && (options.key_file.empty() || options.by_hand))
    throw ConfigError("launch: --meeting needs --key-file, and is instead of --by-hand");
  if (options.by_hand && options.key_file.empty()) {
    throw ConfigError(
        "launch: --by-hand needs --key-file: make one by `umask 077; openssl rand -hex 32 > FILE` and copy "
        "it");
  }
}

RankCommand command_of(const LaunchOptions& options, const Endpoint& coordinator) {
  RankCommand command;
  command.words = options.words;
  command.environment = this_environment();
  command.folder = std::filesystem::current_path().string();
  command.world_size = options.world_size();
  command.coordinator = coordinator;
  command.master_port = local_endpoint(listen_at({coordinator.address, 0}).get()).port;
  command.plaintext = options.plaintext;
  command.restarts = options.restarts;
  command.pipes_output = options.tags_output;
  return command;
}

std::vector<Rank> ranks_here(const LaunchOptions& options) {
  std::vector<Rank> ranks;
  for (std::size_t host = 0; host < options.hosts.size(); ++host) {
    const std::vector<Rank>& own = options.hosts[host].ranks;
    if (options.is_here(host)) ranks.insert(ranks.end(), own.begin(), own.end());
  }
  return ranks;
}

// Leaves the launcher's address for agents that somebody else starts.
class Meeting {
 public:
  Meeting(std::string file, const Endpoint& launcher) : file_(std::move(file)) {
    if (!file_.empty()) write_file_atomically(posix_file_system(), file_, to_string(launcher) + '\n');
  }
  ~Meeting() {
    if (!file_.empty()) ::unlink(file_.c_str());
  }
  Meeting(const Meeting&) = delete;
  Meeting& operator=(const Meeting&) = delete;

 private:
  std::string file_;
};

}  // namespace

bool LaunchOptions::is_here(std::size_t host) const {
  return meeting.empty() ? is_this_host(hosts[host].host) : host == 0;
}

int LaunchOptions::world_size() const {
  std::size_t size = 0;
  for (const HostRanks& host : hosts) size += host.ranks.size();
  return static_cast<int>(size);
}

int launch(const LaunchOptions& options) {
  check(options);
  const JobKey key = options.key_file.empty() ? random_key() : read_key_file(options.key_file);
  const int own_host = static_cast<int>(options.hosts.size());
  SignalsToPoll signals{SIGINT, SIGTERM, SIGHUP, SIGTSTP};
  const Guard guard(job_mark(key, own_host));  // Before any thread, and to the very end.

  AgentCalls calls;
  const CoordinatorOptions coordinating{.world_size = options.world_size(), .cause_grace = kCauseGrace};
  Listener listener(listen_at({address_for(options), 0}), key, {.plaintext = options.plaintext},
                    log_to_stderr());
  CoordinatorServer coordinator(coordinating, std::move(listener), key, log_to_stderr(),
                                [&](Accepted accepted) { calls.put(std::move(accepted)); });
  RankCommand command = command_of(options, coordinator.endpoint());
  command.host = own_host;

  const Meeting meeting(options.meeting, coordinator.endpoint());
  std::vector<std::unique_ptr<RankSet>> sets = start_remote_ranks(options, command, key, calls, signals);
  const std::vector<Rank> here = ranks_here(options);
  const bool first_reads_input = ::isatty(STDIN_FILENO) == 0;
  if (!here.empty()) sets.push_back(std::make_unique<LocalRanks>(command, key, here, first_reads_input));
  return Launcher(options, coordinator, signals).run(sets);
}

}  // namespace hocket
