#include "cli/launch/remote_ranks.h"

#include <fmt/format.h>
#include <signal.h>
#include <sys/wait.h>

#include <array>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/terminal.h"

namespace hocket {

void pass_on_output(RankProcess& process) {
  std::array<char, 4096> buffer;
  for (FileDescriptor* each : {&process.out, &process.err}) {
    if (!each->is_open()) continue;
    const auto got = ::read(each->get(), buffer.data(), buffer.size());
    if (got > 0) write_raw({buffer.data(), static_cast<std::size_t>(got)});
    if (got == 0) each->reset();
  }
}

RemoteRanks::RemoteRanks(std::string host, FramedStream agent, const StartRanks& start, RankProcess caller)
    : host_(std::move(host)),
      agent_(std::move(agent)),
      running_(start.ranks.begin(), start.ranks.end()),
      caller_(std::move(caller)),
      liveness_(kAgentHeartbeat, Clock::now()) {
  agent_.send(encode(start));
}

RemoteRanks::~RemoteRanks() {
  if (caller_.pid < 0) return;
  ::kill(-caller_.pid, SIGTERM);
  ::waitpid(caller_.pid, nullptr, 0);
}

void RemoteRanks::add_to(std::vector<pollfd>& polls) const {
  if (running_.empty()) return;
  polls.push_back(agent_.to_poll());
  for (const FileDescriptor* each : {&caller_.out, &caller_.err}) {
    if (each->is_open()) polls.push_back({each->get(), POLLIN, 0});
  }
}

void RemoteRanks::progress(RankEvents& events) {
  pass_on_output(caller_);
  if (running_.empty()) return;
  try {
    hear(events);
    const TimePoint now = Clock::now();
    if (liveness_.is_time_to_beat(now)) agent_.send(encode(StillHere{}));
    if (liveness_.is_silent(now))
      lose(events, fmt::format("silent for {:.3g} s", kAgentHeartbeat.silence.count()));
  } catch (const StreamClosed& closed) {
    lose(events, closed.what());
  } catch (const NetError& error) {
    lose(events, error.what());
  }
}

void RemoteRanks::hear(RankEvents& events) {
  agent_.progress();
  while (const auto bytes = agent_.receive()) {
    liveness_.heard(Clock::now());
    const AgentMessage message = decode_agent(*bytes);
    if (const auto* started = std::get_if<RankStarted>(&message)) {
      events.on_start(started->rank, started->pid, started->host);
    } else if (const auto* wrote = std::get_if<RankWrote>(&message)) {
      events.on_output(wrote->rank, wrote->kind, wrote->bytes);
    } else if (const auto* ended = std::get_if<RankEnded>(&message)) {
      if (running_.erase(ended->rank) > 0) events.on_exit(ended->rank, ended->status);
    } else if (const auto* cannot = std::get_if<CannotStart>(&message)) {
      throw ConfigError("host {}: {}", host_, cannot->why);
    }
  }
}

void RemoteRanks::lose(RankEvents& events, std::string_view why) {
  write_message(fmt::format("hocket: lost the agent on host {}, and its ranks: {}", host_, why));
  for (const Rank rank : std::exchange(running_, {})) events.on_exit(rank, W_EXITCODE(kPeerFailed, 0));
}

void RemoteRanks::signal(int number) {
  if (!running_.empty()) agent_.send(encode(SignalRanks{number}));
}

}  // namespace hocket
