#include <fmt/format.h>
#include <unistd.h>

#include <optional>
#include <thread>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/jobs/attempt_processes.h"
#include "cli/jobs/jobs_verbs.h"
#include "cli/jobs/scheduler_place.h"
#include "cli/launch/guard.h"
#include "cli/launch/signals_to_poll.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "net/authenticate.h"
#include "net/job_key.h"
#include "net/liveness.h"

namespace hocket {
namespace {

constexpr Seconds kTick{0.1};
constexpr Seconds kSchedulerTimeout{2.0};
constexpr Seconds kRetry{0.2};
constexpr Seconds kRates{1.0};  // How often it looks how fast its jobs are.

// The agent on the network: it calls the coordinator again and again while its jobs run.
class AgentLoop {
 public:
  AgentLoop(SchedulerPlace place, const AgentArrives& self, double stop_grace, AttemptProcesses& processes)
      : place_(std::move(place)), processes_(processes), agent_(self, stop_grace, processes) {}

  // Until the first signal, and then until all jobs have written their checkpoints; a second signal ends it.
  void run(SignalsToPoll& signals) {
    bool is_leaving = false;
    while (!is_leaving || !agent_.is_idle()) {
      wait(signals);
      if (signals.take()) {
        if (is_leaving) return;
        is_leaving = true;
        write_message("hocket: suspending the jobs; once more to end them at once");
        agent_.stop_all(seconds_since_1970());
      }
      for (AttemptEnded& ended : processes_.reap()) say(agent_.on_exit(std::move(ended)));
      agent_.on_tick(seconds_since_1970());
      if (!is_leaving) connect();
      tell_rates();
      exchange();
    }
    if (line_) line_->flush(after(kSchedulerTimeout));
  }

 private:
  void wait(const SignalsToPoll& signals) const {
    std::vector<pollfd> polls{{signals.fd(), POLLIN, 0}};
    if (line_) polls.push_back(line_->to_poll());
    processes_.add_to(polls);
    ::poll(polls.data(), polls.size(), milliseconds_until(after(kTick)));
  }

  void connect() {
    if (line_ || Clock::now() < retry_at_) return;
    try {
      line_ = call_scheduler(place_, Purpose::agent, after(kSchedulerTimeout));
      liveness_.emplace(kAgentHeartbeat, Clock::now());
      line_->send(encode(JobMessage(agent_.arrival())));
      said_.clear();
    } catch (const std::exception& error) {
      lose(error.what());
    }
  }

  void lose(const std::string& why) {
    line_.reset();
    retry_at_ = after(kRetry);
    if (said_ == why) return;
    said_ = why;
    write_message(fmt::format("hocket: {}; trying again", why));
  }

  void say(const JobMessage& message) {
    if (!line_) return;
    try {
      line_->send(encode(message));
    } catch (const std::exception& error) {
      lose(error.what());
    }
  }

  void tell_rates() {
    if (Clock::now() < rates_at_) return;
    rates_at_ = after(kRates);
    for (const AttemptRate& rate : processes_.new_rates()) say(rate);
  }

  void exchange() {
    if (!line_) return;
    try {
      line_->progress();
      const TimePoint now = Clock::now();
      while (const auto bytes = line_->receive()) {
        liveness_->heard(now);
        for (const JobMessage& answer : agent_.on_message(decode_job_message(*bytes), seconds_since_1970()))
          line_->send(encode(answer));
      }
      if (liveness_->is_time_to_beat(now)) line_->send(encode(JobMessage(AgentBeat{})));
      if (liveness_->is_silent(now)) throw NetError("the scheduler is silent");
    } catch (const std::exception& error) {
      lose(fmt::format("jobs: lost the scheduler: {}", error.what()));
    }
  }

  SchedulerPlace place_;
  AttemptProcesses& processes_;
  JobAgent agent_;
  std::optional<FramedStream> line_;
  std::optional<Liveness> liveness_;
  TimePoint retry_at_{};
  TimePoint rates_at_{};
  std::string said_;
};

AgentArrives self_of(const Arguments& arguments) {
  AgentArrives self;
  self.name = arguments.text("name", this_host_name());
  if (self.name.empty() || self.name.front() == '-' || self.name.find_first_of("/,") != std::string::npos)
    throw ConfigError("jobs agent: --name {}: expected a name without / and comma", self.name);
  const int cores = static_cast<int>(std::max(1U, std::thread::hardware_concurrency()));
  self.slots = static_cast<int>(arguments.integer("slots", cores, 1, 1 << 16));
  self.rack = static_cast<int>(arguments.integer("rack", 0, 0, 1 << 20));
  if (arguments.has("machine-memory"))
    self.memory_bytes = parse_bytes(arguments.text("machine-memory"), "jobs agent: --machine-memory");
  return self;
}

}  // namespace

// Its jobs die with it, however it ends: by the signal that their parent's death sends them, by the guard,
// and by whichever agent comes next, before that says that it is there. So none can run twice.
int run_jobs_agent(const Arguments& arguments) {
  const SchedulerPlace place = place_of(arguments);
  const AgentArrives self = self_of(arguments);
  place.key();  // Throws now rather than in the loop.
  std::filesystem::create_directories(place.folder / "agents");
  const std::filesystem::path lock_path = place.folder / "agents" / (self.name + ".lock");
  const FileDescriptor lock = lock_file(lock_path, "the agent " + self.name, Seconds(15));
  const std::string machine_mark = "HOCKET_JOBS_MACHINE=" + lock_path.string();
  std::array<std::byte, 16> random{};
  fill_random(random);
  const std::string own_mark = "HOCKET_JOBS_AGENT=" + to_hex(random);
  end_marked_processes(machine_mark);
  SignalsToPoll signals{SIGINT, SIGTERM};
  const Guard guard(own_mark);
  AttemptProcesses processes(place, self.name, {machine_mark, own_mark});
  AgentLoop loop(place, self, seconds_of(arguments, "stop-grace", 60), processes);
  write_message(
      fmt::format("hocket: agent {} with {} slots for {}", self.name, self.slots, place.folder.string()));
  loop.run(signals);
  return kDone;
}

}  // namespace hocket
