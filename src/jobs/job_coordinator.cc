#include "jobs/job_coordinator.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "base/error.h"
#include "jobs/job_order.h"

namespace hocket {
namespace {

constexpr std::size_t kMostRates = 8;
constexpr std::size_t kRatesOfPace = 3;  // One may be an accident.
constexpr int kPeerFailed = 4, kInterrupted = 130, kTerminated = 143;

// It was ended from outside, or lost a rank: its checkpoint is good, and it can go on.
bool can_go_on(const AttemptEnded& ended) {
  return ended.signal != 0 || ended.exit_code == kPeerFailed || ended.exit_code == kInterrupted ||
         ended.exit_code == kTerminated;
}

std::string text_of(const AttemptEnded& ended) {
  if (!ended.error.empty()) return ended.error;
  const std::string how = ended.signal != 0 ? fmt::format("was killed by signal {}", ended.signal)
                                            : fmt::format("ended with exit code {}", ended.exit_code);
  return ended.last_line.empty() ? how : fmt::format("{}: {}", how, ended.last_line);
}

void settle(ClusterJob& job, double now) {
  if (job.allocation.empty()) return;
  const double seconds = std::max(0.0, now - job.started);
  job.served += seconds * job.workers() / job.max_workers;
  job.attained += seconds * job.workers();
  job.started = now;
}

void wait_again(JobRecord& record, double now) {
  record.job.state = JobState::waiting;
  record.job.waiting_since = now;
}

// What becomes of a job whose attempt has ended; it holds no slots here.
void judge(JobRecord& record, const AttemptEnded& ended, bool was_told, int most_restarts, double now) {
  const auto finish = [&](JobState state, std::string reason) {
    record.job.state = state;
    record.ended = now;
    record.next.clear();
    record.reason = std::move(reason);
  };
  if (ended.exit_code == 0) return finish(JobState::done, "");
  if (record.is_cancelled) return finish(JobState::cancelled, "");
  if (!ended.error.empty() || !can_go_on(ended)) return finish(JobState::failed, text_of(ended));
  if (was_told) return wait_again(record, now);
  if (++record.restarts > most_restarts)
    return finish(JobState::failed,
                  fmt::format("gave up after {} restarts: {}", most_restarts, text_of(ended)));
  record.reason = text_of(ended);
  wait_again(record, now);
}

// What was measured holds no longer.
void forget_pace(JobRecord& record) {
  record.job.pace.reset();
  record.rates.clear();
}

bool is_among(const std::vector<JobAttempt>& all, const JobAttempt& which) {
  return std::find(all.begin(), all.end(), which) != all.end();
}

}  // namespace

JobCoordinator::JobCoordinator(JobStore& store, JobCoordinatorOptions options, JobOutbox& outbox, Log log)
    : store_(store), options_(std::move(options)), outbox_(outbox), log_(std::move(log)) {
  for (JobRecord& record : store_.jobs()) records_.emplace(record.job.id, std::move(record));
  machines_ = store_.machines();
  for (ClusterMachine& machine : machines_) machine.is_present = false;
}

const JobRecord& JobCoordinator::record(JobId id) const {
  const auto found = records_.find(id);
  if (found == records_.end()) throw ConfigError("jobs: there is no job {}", id);
  return found->second;
}

// First durable, then true.
template <typename Change>
void JobCoordinator::change(JobId id, Change what) {
  JobRecord changed = records_.at(id);
  what(changed);
  store_.save(changed);
  records_.at(id) = std::move(changed);
}

JobId JobCoordinator::submit(JobRecord request, double now) {
  ClusterState state;
  state.machines = machines_;
  if (!machines_.empty() && !could_ever_run(state, request.job)) {
    int most = 0;
    for (const ClusterMachine& machine : machines_) most = std::max(most, machine.slots);
    const ClusterJob& job = request.job;
    throw ConfigError("jobs: {} wants {} workers{}{}; {} {} slots", job.name, job.min_workers,
                      job.spans_machines ? "" : " on one machine",
                      job.memory_bytes > 0 ? fmt::format(" with {} bytes each", job.memory_bytes) : "",
                      job.spans_machines ? "all machines together have" : "the largest machine has",
                      job.spans_machines ? state.total_slots() : most);
  }
  request.job.id = records_.empty() ? 1 : records_.rbegin()->first + 1;
  request.job.state = JobState::waiting;
  request.job.submitted = request.job.waiting_since = now;
  store_.save(request);
  const JobId id = request.job.id;
  records_.emplace(id, std::move(request));
  return id;
}

void JobCoordinator::cancel(JobId id, double now) {
  const JobState state = record(id).job.state;
  if (has_ended(state)) throw ConfigError("jobs: job {} is {} already", id, name_of(state));
  change(id, [&](JobRecord& record) {
    record.is_cancelled = true;
    record.next.clear();
    if (state == JobState::waiting) {
      record.job.state = JobState::cancelled;
      record.ended = now;
    } else {
      record.job.state = JobState::stopping;
    }
  });
  if (state == JobState::running) tell_to_stop(records_.at(id));
}

void JobCoordinator::retry(JobId id, double now) {
  const JobState state = record(id).job.state;
  if (state != JobState::failed && state != JobState::cancelled)
    throw ConfigError("jobs: job {} is {}; only a failed or cancelled one is tried again", id,
                      name_of(state));
  change(id, [&](JobRecord& record) {
    record.is_cancelled = false;
    record.restarts = 0;
    record.ended = 0;
    record.reason.clear();
    wait_again(record, now);
  });
}

int JobCoordinator::release(const std::string& name, double now) {
  const auto found = std::find_if(machines_.begin(), machines_.end(),
                                  [&](const ClusterMachine& machine) { return machine.name == name; });
  if (found == machines_.end()) throw ConfigError("jobs: there is no machine {}", name);
  if (found->is_present)
    throw ConfigError("jobs: machine {} is here; only one that is away is released", name);
  std::vector<JobId> held;
  for (const auto& [id, record] : records_) {
    if (record.is_active() && record.is_on(static_cast<int>(found - machines_.begin()))) held.push_back(id);
  }
  for (const JobId id : held) {
    change(id, [](JobRecord& record) { record.next.clear(); });
    lose_part(id, static_cast<int>(found - machines_.begin()), "with its machine", now);
  }
  return static_cast<int>(held.size());
}

int JobCoordinator::machine_of(const AgentArrives& agent) {
  ClusterMachine machine{agent.name, agent.slots, agent.memory_bytes, agent.rack, true};
  const auto found = std::find_if(machines_.begin(), machines_.end(),
                                  [&](const ClusterMachine& each) { return each.name == agent.name; });
  const int index = static_cast<int>(found - machines_.begin());
  store_.save(index, machine);
  if (found == machines_.end()) {
    machines_.push_back(std::move(machine));
  } else {
    *found = std::move(machine);
  }
  return index;
}

void JobCoordinator::on_arrival(int machine, const AgentArrives& agent, double now) {
  std::vector<JobAttempt> known, ended_there;
  for (const AttemptEnded& ended : agent.ended) ended_there.push_back(ended.which);
  std::vector<JobId> lost;  // Found before anything is started anew.
  for (const auto& [id, record] : records_) {
    if (!record.is_active() || !record.is_on(machine)) continue;
    const JobAttempt which{id, record.attempt};
    known.push_back(which);
    if (!is_among(agent.running, which)) {
      if (!is_among(ended_there, which)) lost.push_back(id);
    } else if (record.job.state == JobState::stopping) {
      outbox_.send(machine, StopAttempt{which});  // Perhaps it was never told.
    }
  }
  for (const AttemptEnded& ended : agent.ended) on_ended(machine, ended, now);
  for (const JobId id : lost) lose_part(id, machine, "with its agent", now);
  for (const JobAttempt& which : agent.running) {
    if (!is_among(known, which)) outbox_.send(machine, StopAttempt{which});
  }
}

void JobCoordinator::on_departure(int machine) {
  machines_[static_cast<std::size_t>(machine)].is_present = false;
}

void JobCoordinator::on_ended(int machine, const AttemptEnded& ended, double now) {
  const auto found = records_.find(ended.which.job);
  if (found != records_.end() && found->second.is_active() && found->second.is_on(machine) &&
      found->second.attempt == ended.which.attempt) {
    end_part(ended.which.job, machine, ended, true, now);
  }
  outbox_.send(machine, ForgetAttempt{ended.which});
}

JobRecord* JobCoordinator::partner_of(const JobRecord& record) {
  for (auto& [id, other] : records_) {
    if (other.is_active() && (record.job.host == id || other.job.host == record.job.id)) return &other;
  }
  return nullptr;
}

void JobCoordinator::on_rate(int machine, const AttemptRate& rate) {
  const auto found = records_.find(rate.which.job);
  if (found == records_.end() || !(rate.samples_per_second > 0)) return;
  JobRecord& record = found->second;
  if (record.job.state != JobState::running || !record.is_on(machine) || record.attempt != rate.which.attempt)
    return;
  record.rates.push_back(rate.samples_per_second);
  if (record.rates.size() > kMostRates) record.rates.erase(record.rates.begin() + 1);
  const std::size_t count = record.rates.size() - 1;
  if (count == 0) return;
  const double mean = std::accumulate(record.rates.begin() + 1, record.rates.end(), 0.0) / count;
  if (partner_of(record) == nullptr) {
    record.rate_alone = mean;
  } else if (record.rate_alone && count >= kRatesOfPace) {
    record.job.pace = mean / *record.rate_alone;
  }
}

void JobCoordinator::lose_part(JobId id, int machine, const char* how, double now) {
  AttemptEnded ended;
  ended.which = {id, records_.at(id).attempt};
  ended.signal = 9;
  ended.last_line = how;
  end_part(id, machine, ended, false, now);
}

// An attempt has ended once all its parts have. Parts end with each other, but for those that never met.
void JobCoordinator::end_part(JobId id, int machine, const AttemptEnded& ended, bool is_told_by_agent,
                              double now) {
  JobRecord record = records_.at(id);
  const bool leads = record.job.allocation.front().machine == machine;
  const bool has_error = record.outcome && !record.outcome->error.empty();
  if (!has_error && (leads || !ended.error.empty())) record.outcome = ended;
  record.is_part_lost = record.is_part_lost || !is_told_by_agent;
  record.gone.push_back(machine);
  if (record.gone.size() == record.job.allocation.size())
    return end_attempt(id, *record.outcome, !record.is_part_lost, now);
  store_.save(record);
  records_.at(id) = std::move(record);
  if (!is_told_by_agent || !ended.error.empty()) tell_to_stop(records_.at(id));
}

void JobCoordinator::tell_to_stop(const JobRecord& record) {
  for (const JobShare& share : record.job.allocation) {
    if (record.is_on(share.machine))
      outbox_.send(share.machine, StopAttempt{{record.job.id, record.attempt}});
  }
}

// An attempt that was lost with its agent does not count against the job.
void JobCoordinator::end_attempt(JobId id, const AttemptEnded& ended, bool is_told_by_agent, double now) {
  if (JobRecord* partner = partner_of(records_.at(id))) forget_pace(*partner);
  change(id, [&](JobRecord& record) {
    const bool was_told = record.job.state == JobState::stopping || !is_told_by_agent;
    settle(record.job, now);
    record.job.allocation.clear();
    record.job.host.reset();
    record.gone.clear();
    record.outcome.reset();
    record.is_part_lost = false;
    judge(record, ended, was_told, options_.most_restarts, now);
  });
  const JobRecord& record = records_.at(id);
  if (record.job.state == JobState::failed)
    log_(fmt::format("job {} ({}) failed: {}", id, record.job.name, record.reason));
  // Whoever shared its slots now has them alone.
  for (auto& [other_id, other] : records_) {
    if (other.job.host == id) change(other_id, [](JobRecord& guest) { guest.job.host.reset(); });
  }
  if (record.job.state == JobState::waiting && !record.next.empty()) {
    const Allocation next = record.next;
    start(id, next, std::nullopt, now);
  }
}

void JobCoordinator::start(JobId id, const Allocation& allocation, std::optional<JobId> host, double now) {
  change(id, [&](JobRecord& record) {
    record.job.state = JobState::running;
    record.job.allocation = allocation;
    record.job.host = host;
    record.job.started = record.job.slice_began = now;
    record.next.clear();
    ++record.attempt;
  });
  const JobRecord& record = records_.at(id);
  forget_pace(records_.at(id));
  if (JobRecord* partner = partner_of(records_.at(id))) forget_pace(*partner);
  StartAttempt begin{{id, record.attempt},
                     record.job.workers(),
                     record.words,
                     record.folder,
                     fmt::format("{}/{}", options_.folder, id)};
  for (const JobShare& share : allocation)
    begin.parts.push_back({machines_[static_cast<std::size_t>(share.machine)].name, share.workers});
  for (const JobShare& share : allocation) {
    outbox_.send(share.machine, begin);
    ++begin.part;
  }
}

void JobCoordinator::stop(JobId id, const Allocation& next) {
  change(id, [&](JobRecord& record) {
    record.job.state = JobState::stopping;
    record.next = next;
  });
  tell_to_stop(records_.at(id));
}

// How long the jobs of each owner took that are done: an estimate for those of which nobody said.
std::map<std::string, double> JobCoordinator::mean_lengths() const {
  std::map<std::string, std::pair<double, int>> sums;
  for (const auto& [id, record] : records_) {
    if (record.job.state != JobState::done) continue;
    sums[record.job.owner].first += record.job.served;
    ++sums[record.job.owner].second;
  }
  std::map<std::string, double> means;
  for (const auto& [owner, sum] : sums) means[owner] = sum.first / sum.second;
  return means;
}

ClusterState JobCoordinator::state_at(double now) const {
  ClusterState state;
  state.now = now;
  state.machines = machines_;
  const auto lengths = mean_lengths();
  for (const auto& [id, record] : records_) {
    if (!record.is_active()) continue;
    ClusterJob job = record.job;
    if (const auto mean = lengths.find(job.owner); !job.length && mean != lengths.end())
      job.length = mean->second;
    if (!record.next.empty() && workers_of(record.next) > job.workers()) job.allocation = record.next;
    (job.state == JobState::waiting ? state.waiting : state.running).push_back(state.jobs.size());
    state.jobs.push_back(std::move(job));
  }
  const auto comes_before = [&](std::size_t a, std::size_t b) {
    return arrival(state.jobs[a], options_.policy_options) < arrival(state.jobs[b], options_.policy_options);
  };
  std::stable_sort(state.waiting.begin(), state.waiting.end(), comes_before);
  std::stable_sort(state.running.begin(), state.running.end(), comes_before);
  return state;
}

std::optional<double> JobCoordinator::decide(double now) {
  const ClusterState state = state_at(now);
  if (state.jobs.empty()) return std::nullopt;
  const Decisions decisions = options_.policy->decide(state, options_.policy_options);
  const auto id_of = [&](std::size_t index) { return state.jobs[index].id; };
  for (const std::size_t index : decisions.renewals) records_.at(id_of(index)).job.slice_began = now;
  for (const std::size_t index : decisions.bad_pairs) records_.at(id_of(index)).job.shares_badly = true;
  for (const std::size_t index : decisions.stops) stop(id_of(index), {});
  for (const JobStart& resize : decisions.resizes) stop(id_of(resize.job), resize.allocation);
  for (const JobStart& each : decisions.starts) start(id_of(each.job), each.allocation, each.host, now);
  return decisions.wake;
}

}  // namespace hocket
