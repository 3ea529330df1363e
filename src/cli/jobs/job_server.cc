#include "cli/jobs/job_server.h"

#include "base/error.h"
#include "cli/jobs/client_requests.h"
#include "cli/jobs/scheduler_place.h"
#include "net/call.h"

namespace hocket {

void JobServer::serve_once(std::vector<pollfd> others, TimePoint until) {
  std::vector<pollfd> polls = std::move(others);
  polls.push_back({coordinator_.fd(), POLLIN, 0});
  listener_.add_to(polls);
  for (const auto& [number, line] : lines_) polls.push_back(line.stream.to_poll());
  ::poll(polls.data(), polls.size(), milliseconds_until(listener_.next_deadline(until)));

  const TimePoint now = Clock::now();
  for (Accepted& accepted : listener_.progress(now)) take(std::move(accepted), now);
  for (SaidOnLine& said : coordinator_.take_said()) pass_on(std::move(said), now);
  std::vector<LineNumber> closed;
  for (auto& [number, line] : lines_) {
    try {
      if (!hear(number, line, now)) closed.push_back(number);
    } catch (const std::exception&) {  // The other end is gone, or speaks nonsense.
      closed.push_back(number);
    }
  }
  for (const LineNumber number : closed) close(number);
}

void JobServer::take(Accepted accepted, TimePoint now) {
  const Purpose purpose = accepted.hello.purpose;
  if (purpose != Purpose::agent && purpose != Purpose::control) return;
  lines_.emplace(next_line_++, Line{FramedStream(answer(std::move(accepted), key_)),
                                    purpose == Purpose::agent, Liveness(kAgentHeartbeat, now)});
}

void JobServer::pass_on(SaidOnLine said, TimePoint now) {
  const auto found = lines_.find(said.line);
  if (found == lines_.end()) return;
  if (said.bytes.empty()) return close(said.line);
  found->second.stream.send(said.bytes);
  found->second.is_waiting = false;
  if (!found->second.is_agent) found->second.liveness.heard(now);
}

void JobServer::close(LineNumber number) {
  if (lines_.at(number).is_agent) coordinator_.hear(number, LineClosed{});
  lines_.erase(number);
}

bool JobServer::hear(LineNumber number, Line& line, TimePoint now) {
  line.stream.progress();
  while (const auto bytes = line.stream.receive()) {
    line.liveness.heard(now);
    if (line.is_agent) {
      hear_agent(number, decode_job_message(*bytes));
    } else if (!line.has_asked) {
      hear_client(number, line, {reinterpret_cast<const char*>(bytes->data()), bytes->size()});
    }
  }
  if (line.is_agent && line.liveness.is_time_to_beat(now)) line.stream.send(encode(JobMessage(AgentBeat{})));
  return !line.liveness.is_silent(now) || line.is_waiting;
}

void JobServer::hear_agent(LineNumber number, const JobMessage& message) {
  if (const auto* ended = std::get_if<AttemptEnded>(&message)) coordinator_.hear(number, *ended);
  if (const auto* rate = std::get_if<AttemptRate>(&message)) coordinator_.hear(number, *rate);
  const auto* agent = std::get_if<AgentArrives>(&message);
  if (agent == nullptr) return;
  if (agent->slots < 1 || agent->slots > (1 << 16) || agent->name.empty() || agent->memory_bytes < 0)
    throw NetError("jobs: an agent without slots or name");
  coordinator_.hear(number, *agent);
}

void JobServer::hear_client(LineNumber number, Line& line, std::string request) {
  line.has_asked = true;
  if (is_question(request)) {
    const std::string answer = coordinator_.ask(request);
    line.stream.send(std::as_bytes(std::span(answer)));
  } else {
    line.is_waiting = true;
    coordinator_.hear(number, ClientRequest{std::move(request)});
  }
}

}  // namespace hocket
