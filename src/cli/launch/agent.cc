#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <memory>
#include <thread>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/launch/agent_message.h"
#include "cli/launch/guard.h"
#include "cli/launch/key_file.h"
#include "cli/launch/launch.h"
#include "cli/launch/local_ranks.h"
#include "cli/launch/remote_ranks.h"
#include "net/call.h"
#include "net/framed_stream.h"
#include "net/socket.h"

namespace hocket {
namespace {

constexpr Seconds kRetry{0.2};
constexpr std::size_t kMaxQueuedBytes = 8 << 20;  // Beyond this, ranks wait until the launcher has read.

Endpoint launcher_of(const std::string& launcher) {
  constexpr std::string_view kFile = "file:";
  if (!launcher.starts_with(kFile)) return parse_endpoint(launcher);
  std::string address;
  std::ifstream file(launcher.substr(kFile.size()));
  if (!std::getline(file, address)) throw NetError("launch: there is no launcher at {}", launcher);
  return parse_endpoint(address);
}

std::unique_ptr<Stream> try_call(const AgentOptions& options, const JobKey& key, TimePoint deadline) {
  Endpoint launcher = launcher_of(options.launcher);
  launcher.address = resolve(launcher.address).front();
  Hello hello;
  hello.purpose = Purpose::agent;
  hello.channel = static_cast<std::uint32_t>(options.host);
  return call(launcher, key, hello, options.plaintext, deadline);
}

// A launcher that is not there yet is waited for; one that refuses is not.
std::unique_ptr<Stream> call_launcher(const AgentOptions& options, const JobKey& key) {
  const TimePoint deadline = after(kAgentCallTimeout);
  while (true) {
    try {
      return try_call(options, key, deadline);
    } catch (const NetError&) {
      if (Clock::now() >= deadline) throw;
    } catch (const std::runtime_error& refused) {
      throw NetError("launch: the launcher at {} refuses this agent: {}", options.launcher, refused.what());
    }
    std::this_thread::sleep_for(kRetry);
  }
}

// What happens to the ranks here, told to the launcher; what the launcher says, done here.
class Agent final : public RankEvents {
 public:
  Agent(FramedStream launcher, const JobKey& key, int host)
      : launcher_(std::move(launcher)), key_(key), host_(host), liveness_(kAgentHeartbeat, Clock::now()) {}

  void run() {
    while (running_ != 0) {
      wait();
      hear();
      if (ranks_ && launcher_.queued_bytes() < kMaxQueuedBytes) ranks_->progress(*this);
      const TimePoint now = Clock::now();
      if (liveness_.is_time_to_beat(now)) say(StillHere{});
      if (liveness_.is_silent(now)) throw StreamClosed("the launcher is silent");
    }
    launcher_.flush(after(kAgentCallTimeout));
  }

  void on_start(Rank rank, int pid, const std::string& host) override { say(RankStarted{rank, pid, host}); }
  void on_output(Rank rank, OutputKind kind, std::string_view bytes) override {
    say(RankWrote{rank, kind, std::string(bytes)});
  }
  void on_exit(Rank rank, int status) override {
    say(RankEnded{rank, status});
    --running_;
  }

 private:
  void say(const AgentMessage& message) { launcher_.send(encode(message)); }

  void wait() const {
    std::vector<pollfd> polls{launcher_.to_poll()};
    if (ranks_ && launcher_.queued_bytes() < kMaxQueuedBytes) ranks_->add_to(polls);
    ::poll(polls.data(), polls.size(), milliseconds_until(after(Seconds(0.1))));
  }

  void hear() {
    launcher_.progress();
    while (const auto bytes = launcher_.receive()) {
      liveness_.heard(Clock::now());
      const AgentMessage message = decode_agent(*bytes);
      if (const auto* start = std::get_if<StartRanks>(&message)) begin(*start);
      if (const auto* signal = std::get_if<SignalRanks>(&message); signal != nullptr && ranks_) {
        ranks_->signal(signal->number);
      }
    }
  }

  void begin(const StartRanks& start) {
    if (ranks_) throw NetError("launch: the launcher starts the ranks twice");
    RankCommand command = start.command;
    command.host = host_;
    std::vector<std::string> environment = this_environment();
    environment.insert(environment.end(), command.environment.begin(), command.environment.end());
    command.environment = std::move(environment);
    try {
      ranks_ = std::make_unique<LocalRanks>(command, key_, start.ranks, false);
      running_ = static_cast<int>(start.ranks.size());
    } catch (const Error& error) {
      say(CannotStart{error.what()});
      launcher_.flush(after(Seconds(1)));
      throw;
    }
  }

  FramedStream launcher_;
  JobKey key_;
  int host_;
  int running_ = -1;  // Not started yet.
  Liveness liveness_;
  std::unique_ptr<LocalRanks> ranks_;
};

}  // namespace

int run_agent(const AgentOptions& options) {
  const JobKey key = read_key_file(options.key_file);
  const Guard guard(job_mark(key, options.host));
  Agent agent(FramedStream(call_launcher(options, key)), key, options.host);
  try {
    agent.run();
  } catch (const StreamClosed& closed) {
    throw NetError("launch: lost the launcher at {}: {}", options.launcher, closed.what());
  }
  return kDone;
}

}  // namespace hocket
