#include "jobs/job_agent.h"

#include "base/error.h"

namespace hocket {

AgentArrives JobAgent::arrival() const {
  AgentArrives arrives = self_;
  for (const auto& [job, running] : running_) arrives.running.push_back({job, running.attempt});
  for (const auto& [which, ended] : ended_) arrives.ended.push_back(ended);
  return arrives;
}

std::vector<JobMessage> JobAgent::on_message(const JobMessage& message, double now) {
  if (const auto* begin = std::get_if<StartAttempt>(&message)) return start(*begin);
  if (const auto* end = std::get_if<StopAttempt>(&message)) return stop(end->which, now);
  if (const auto* forget = std::get_if<ForgetAttempt>(&message)) ended_.erase(forget->which);
  return {};
}

std::vector<JobMessage> JobAgent::start(const StartAttempt& begin) {
  const auto found = running_.find(begin.which.job);
  if (found != running_.end()) {
    if (found->second.attempt == begin.which.attempt) return {};
    AttemptEnded refused;
    refused.which = begin.which;
    refused.error = "another attempt of the job still runs here";
    return {refused};
  }
  try {
    processes_.start(begin);
  } catch (const Error& error) {
    AttemptEnded ended;
    ended.which = begin.which;
    ended.error = error.what();
    ended_[begin.which] = ended;
    return {ended};
  }
  running_[begin.which.job] = {begin.which.attempt, 0};
  return {};
}

std::vector<JobMessage> JobAgent::stop(const JobAttempt& which, double now) {
  const auto found = running_.find(which.job);
  if (found != running_.end() && found->second.attempt == which.attempt) {
    if (found->second.kill_at > 0) return {};
    found->second.kill_at = now + stop_grace_;
    processes_.interrupt(which);
    return {};
  }
  if (const auto ended = ended_.find(which); ended != ended_.end()) return {ended->second};
  AttemptEnded never;
  never.which = which;
  never.signal = 9;
  return {never};
}

JobMessage JobAgent::on_exit(AttemptEnded ended) {
  running_.erase(ended.which.job);
  ended_[ended.which] = ended;
  return ended;
}

void JobAgent::on_tick(double now) {
  for (const auto& [job, running] : running_) {
    if (running.kill_at > 0 && now >= running.kill_at) processes_.kill({job, running.attempt});
  }
}

void JobAgent::stop_all(double now) {
  for (auto& [job, running] : running_) {
    if (running.kill_at > 0) continue;
    running.kill_at = now + stop_grace_;
    processes_.interrupt({job, running.attempt});
  }
}

}  // namespace hocket
