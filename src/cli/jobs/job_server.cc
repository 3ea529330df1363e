#include "cli/jobs/job_server.h"

#include <fmt/format.h>

#include "base/error.h"
#include "cli/jobs/scheduler_place.h"
#include "net/call.h"

namespace hocket {
namespace {

// A disk that is slow to sync holds up the coordinator; nobody is lost for that.
constexpr HeartbeatTiming kHeartbeat{Seconds(0.5), Seconds(30)};

std::span<const std::byte> bytes_of(const std::string& text) { return std::as_bytes(std::span(text)); }

}  // namespace

JobServer::JobServer(JobStore& store, const JobCoordinatorOptions& options, Listener listener,
                     const JobKey& key, Log log, Answer answer)
    : listener_(std::move(listener)),
      key_(key),
      log_(std::move(log)),
      answer_(std::move(answer)),
      coordinator_(store, options, *this, log_) {}

void JobServer::send(int machine, const JobMessage& message) {
  for (auto& [number, line] : lines_) {
    if (line.machine == machine) line.stream.send(encode(message));
  }
}

void JobServer::serve_once(std::vector<pollfd> others, TimePoint until) {
  std::vector<pollfd> polls = std::move(others);
  listener_.add_to(polls);
  for (const auto& [number, line] : lines_) polls.push_back(line.stream.to_poll());
  ::poll(polls.data(), polls.size(), milliseconds_until(listener_.next_deadline(until)));

  const TimePoint now = Clock::now();
  for (Accepted& accepted : listener_.progress(now)) take(std::move(accepted), now);
  std::vector<std::uint64_t> closed;
  for (auto& [number, line] : lines_) {
    try {
      if (!hear(line, now)) closed.push_back(number);
    } catch (const std::exception&) {  // The other end is gone, or speaks nonsense.
      closed.push_back(number);
    }
  }
  for (const std::uint64_t number : closed) {
    const int machine = lines_.at(number).machine;
    lines_.erase(number);
    if (machine >= 0) {
      coordinator_.on_departure(machine);
      log_(
          fmt::format("machine {} is away", coordinator_.machines()[static_cast<std::size_t>(machine)].name));
    }
  }
  try {
    coordinator_.decide(seconds_since_1970());
    trouble_.clear();
  } catch (const Error& error) {
    say_once(error.what());
  }
}

void JobServer::say_once(const std::string& trouble) {
  if (trouble != trouble_) log_(trouble);
  trouble_ = trouble;
}

void JobServer::take(Accepted accepted, TimePoint now) {
  const Purpose purpose = accepted.hello.purpose;
  if (purpose != Purpose::agent && purpose != Purpose::control) return;
  lines_.emplace(next_line_++, Line{FramedStream(answer(std::move(accepted), key_)),
                                    purpose == Purpose::agent, -1, Liveness(kHeartbeat, now), false});
}

bool JobServer::hear(Line& line, TimePoint now) {
  line.stream.progress();
  while (const auto bytes = line.stream.receive()) {
    line.liveness.heard(now);
    if (line.is_agent) {
      hear_agent(line, decode_job_message(*bytes));
    } else if (!line.is_answered) {
      const std::string request(reinterpret_cast<const char*>(bytes->data()), bytes->size());
      line.stream.send(bytes_of(answer_(coordinator_, request)));
      line.is_answered = true;
    }
  }
  if (line.is_agent && line.liveness.is_time_to_beat(now)) line.stream.send(encode(JobMessage(AgentBeat{})));
  return !line.liveness.is_silent(now);
}

void JobServer::hear_agent(Line& line, const JobMessage& message) {
  if (const auto* agent = std::get_if<AgentArrives>(&message)) return welcome(line, *agent);
  const auto* ended = std::get_if<AttemptEnded>(&message);
  if (ended == nullptr || line.machine < 0) return;
  try {
    coordinator_.on_ended(line.machine, *ended, seconds_since_1970());
  } catch (const Error& error) {
    say_once(error.what());
    throw;  // The agent tells again when it comes back.
  }
}

void JobServer::welcome(Line& line, const AgentArrives& agent) {
  if (agent.slots < 1 || agent.slots > (1 << 16) || agent.name.empty() || agent.memory_bytes < 0)
    throw NetError("jobs: an agent without slots or name");
  const int machine = coordinator_.machine_of(agent);
  for (auto& [number, other] : lines_) {
    if (other.machine == machine) other.machine = -1;  // An older connection of the same agent.
  }
  line.machine = machine;
  coordinator_.on_arrival(machine, agent, seconds_since_1970());
  log_(fmt::format("machine {} is here with {} slots and {} running jobs", agent.name, agent.slots,
                   agent.running.size()));
}

}  // namespace hocket
