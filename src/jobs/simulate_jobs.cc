#include "jobs/simulate_jobs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <queue>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "jobs/job_order.h"

namespace hocket {
namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr int kMostRounds = 64;  // Of decisions at one instant.

double busyness(JobId id) { return 0.3 + 0.7 * Rng{0x62757379ULL, static_cast<std::uint64_t>(id)}.uniform(); }

double shared_pace(JobId a, JobId b) { return std::min(1.0, 1.0 / (busyness(a) + busyness(b))); }

struct Event {
  double when;
  std::size_t job;
  int version;    // Of the job when it was planned; it has changed since if this differs.
  bool is_trial;  // The pace becomes known; else the job ends.

  bool operator<(const Event& other) const {  // The earliest is on top of a heap.
    return when != other.when ? when > other.when : job > other.job;
  }
};

class World {
 public:
  World(const JobTrace& trace, const Policy& policy, const JobSimulationOptions& options)
      : options_(options), policy_(policy), facts_(trace.size()) {
    state_.machines = options.machines;
    state_.jobs = trace;
    slots_ = state_.total_slots();
    result_.outcomes.resize(trace.size());
    for (std::size_t i = 0; i < trace.size(); ++i) check(trace[i], i);
  }

  JobSimulation run() {
    while (arrived_ < state_.jobs.size() || !state_.waiting.empty() || !state_.running.empty()) {
      advance_to(next_time());
      while (!events_.empty() && events_.top().when <= state_.now) happen();
      while (arrived_ < state_.jobs.size() && state_.jobs[arrived_].submitted <= state_.now) arrive();
      decide();
      result_.loads.push_back({state_.now, busy_, static_cast<int>(state_.waiting.size())});
    }
    result_.end = state_.now;
    result_.racks_per_gang = gang_starts_ == 0 ? 0 : racks_ / gang_starts_;
    return std::move(result_);
  }

 private:
  struct Facts {
    double settled = 0;  // Progress is counted up to here.
    int version = 0;
    bool has_run = false;
    std::optional<std::size_t> partner;
  };

  void check(const ClusterJob& job, std::size_t index) {
    if (!could_ever_run(state_, job)) {
      throw DataError("job {} of the trace wants {} workers, more than the cluster of {} slots has room for",
                      index + 1, job.min_workers, slots_);
    }
    result_.outcomes[index] = {job.submitted, -1, -1, *job.length, job.max_workers, 0};
  }

  double next_time() {
    while (!events_.empty() && events_.top().version != facts_[events_.top().job].version) events_.pop();
    double when = arrived_ < state_.jobs.size() ? state_.jobs[arrived_].submitted : kNever;
    if (!events_.empty()) when = std::min(when, events_.top().when);
    when = std::min(when, wake_);
    HOCKET_CHECK(when < kNever, "{} lets {} jobs wait for ever", policy_.name, state_.waiting.size());
    return std::max(when, state_.now);
  }

  void advance_to(double when) {
    result_.held_seconds += busy_ * (when - state_.now);
    state_.now = when;
  }

  void arrive() {
    ClusterJob& job = state_.jobs[arrived_];
    job.waiting_since = state_.now;
    put_in_order(state_.waiting, arrived_++);
  }

  std::vector<std::size_t>::iterator place_in(std::vector<std::size_t>& list, std::size_t job) {
    const auto comes_before = [&](std::size_t a, std::size_t b) {
      const double first = arrival(state_.jobs[a], options_.policy);
      const double second = arrival(state_.jobs[b], options_.policy);
      return first != second ? first < second : a < b;
    };
    return std::lower_bound(list.begin(), list.end(), job, comes_before);
  }
  void put_in_order(std::vector<std::size_t>& list, std::size_t job) {
    list.insert(place_in(list, job), job);
  }
  void take_out(std::vector<std::size_t>& list, std::size_t job) { list.erase(place_in(list, job)); }

  void happen() {
    const Event event = events_.top();
    events_.pop();
    if (event.version != facts_[event.job].version) return;
    if (event.is_trial) {
      publish_pace(event.job);
    } else {
      finish(event.job);
    }
  }

  // The one that shares its slots.
  ClusterJob* partner_of(const ClusterJob& job) {
    const auto& partner = facts_[index_of(job)].partner;
    return partner ? &state_.jobs[*partner] : nullptr;
  }

  std::size_t index_of(const ClusterJob& job) const {
    return static_cast<std::size_t>(&job - state_.jobs.data());
  }

  void publish_pace(std::size_t index) {
    ClusterJob& job = state_.jobs[index];
    if (ClusterJob* partner = partner_of(job)) {
      job.pace = partner->pace = shared_pace(job.id, partner->id);
    }
  }

  double pace_of(const ClusterJob& job) {
    const ClusterJob* partner = partner_of(job);
    return partner == nullptr ? 1 : shared_pace(job.id, partner->id);
  }

  // Counts the progress since it last was, at the pace it has had; call before anything changes.
  void settle(std::size_t index) {
    ClusterJob& job = state_.jobs[index];
    Facts& facts = facts_[index];
    const double seconds = std::max(0.0, state_.now - facts.settled);
    const double done = seconds * pace_of(job) * job.workers() / job.max_workers;
    result_.useful_seconds += done * job.max_workers;
    job.served += done;
    job.attained += seconds * job.workers();
    facts.settled = job.started = std::max(facts.settled, state_.now);
    ++facts.version;
  }

  // Plans its end from what it is now; call after everything has changed.
  void plan(std::size_t index) {
    ClusterJob& job = state_.jobs[index];
    const double rate = pace_of(job) * job.workers() / job.max_workers;
    const double left = *job.length - job.served;
    events_.push({facts_[index].settled + left / rate, index, facts_[index].version, false});
  }

  // With `change`, the one that shares its slots is counted and planned anew, too.
  template <typename Change>
  void change(std::size_t index, Change what) {
    std::optional<std::size_t> partner;
    if (const ClusterJob* other = partner_of(state_.jobs[index])) partner = index_of(*other);
    if (partner) settle(*partner);
    settle(index);
    what();
    if (partner) plan(*partner);
  }

  void hold(const ClusterJob& job, int sign) {
    if (!job.host) busy_ += sign * job.workers();
    HOCKET_CHECK(busy_ >= 0 && busy_ <= slots_, "{} of {} slots are held", busy_, slots_);
  }

  void let_go(std::size_t index) {
    ClusterJob& job = state_.jobs[index];
    hold(job, -1);
    if (ClusterJob* partner = partner_of(job)) {
      facts_[index_of(*partner)].partner.reset();
      facts_[index].partner.reset();
      partner->pace.reset();
      if (partner->host) {  // The guest now has the slots for itself.
        partner->host.reset();
        hold(*partner, +1);
      }
    }
    job.host.reset();
    job.pace.reset();
    job.allocation.clear();
    take_out(state_.running, index);
  }

  void finish(std::size_t index) {
    change(index, [&] {
      let_go(index);
      ClusterJob& job = state_.jobs[index];
      result_.useful_seconds += (*job.length - job.served) * job.max_workers;  // What rounding left.
      job.state = JobState::done;
      result_.outcomes[index].finish = state_.now;
    });
  }

  void stop(std::size_t index) {
    change(index, [&] {
      let_go(index);
      ClusterJob& job = state_.jobs[index];
      job.state = JobState::waiting;
      job.waiting_since = state_.now;
      put_in_order(state_.waiting, index);
      ++result_.preemptions;
      ++result_.outcomes[index].preemptions;
    });
  }

  void begin(std::size_t index) {
    ClusterJob& job = state_.jobs[index];
    Facts& facts = facts_[index];
    facts.settled = job.started = state_.now + (facts.has_run ? options_.switch_cost : 0);
    job.slice_began = state_.now;
    facts.has_run = true;
    ++facts.version;
  }

  void start(const JobStart& what) {
    ClusterJob& job = state_.jobs[what.job];
    HOCKET_CHECK(job.state == JobState::waiting, "job {} starts twice", job.id);
    take_out(state_.waiting, what.job);
    put_in_order(state_.running, what.job);
    job.state = JobState::running;
    job.allocation = what.allocation;
    if (what.host) share(what);
    hold(job, +1);
    if (!facts_[what.job].has_run) result_.outcomes[what.job].first_start = state_.now;
    begin(what.job);
    plan(what.job);
    if (what.host) {
      plan(index_of(*partner_of(job)));
      events_.push({state_.now + options_.trial, what.job, facts_[what.job].version, true});
    }
    count_racks(job);
  }

  void share(const JobStart& what) {
    const auto host = std::find_if(state_.running.begin(), state_.running.end(),
                                   [&](std::size_t i) { return state_.jobs[i].id == *what.host; });
    HOCKET_CHECK(host != state_.running.end());
    settle(*host);
    facts_[*host].partner = what.job;
    facts_[what.job].partner = *host;
    ++result_.shared_starts;
    state_.jobs[what.job].host = what.host;
  }

  void resize(const JobStart& what) {
    settle(what.job);
    ClusterJob& job = state_.jobs[what.job];
    hold(job, -1);
    job.allocation = what.allocation;
    hold(job, +1);
    begin(what.job);
    plan(what.job);
    ++result_.resizes;
  }

  void count_racks(const ClusterJob& job) {
    if (job.max_workers < 2) return;
    std::set<int> racks;
    for (const JobShare& share : job.allocation)
      racks.insert(state_.machines[static_cast<std::size_t>(share.machine)].rack);
    racks_ += static_cast<double>(racks.size());
    ++gang_starts_;
  }

  void decide() {
    for (int round = 0; round < kMostRounds; ++round) {
      const Decisions decisions = policy_.decide(state_, options_.policy);
      ++result_.decisions;
      for (const std::size_t index : decisions.bad_pairs) state_.jobs[index].shares_badly = true;
      for (const std::size_t index : decisions.renewals) state_.jobs[index].slice_began = state_.now;
      for (const JobStart& each : decisions.starts) start(each);
      for (const std::size_t index : decisions.stops) stop(index);
      for (const JobStart& each : decisions.resizes) resize(each);
      wake_ = decisions.wake.value_or(kNever);
      HOCKET_CHECK(wake_ > state_.now, "{} wants to decide again at once", policy_.name);
      if (options_.observer) options_.observer(state_);
      if (decisions.change_nothing()) return;
      if (decisions.stops.empty() && decisions.resizes.empty() && state_.waiting.empty()) return;
    }
    HOCKET_CHECK(false, "{} does not come to an end at second {}", policy_.name, state_.now);
  }

  const JobSimulationOptions& options_;
  const Policy& policy_;
  ClusterState state_;
  std::vector<Facts> facts_;
  std::priority_queue<Event> events_;
  std::size_t arrived_ = 0;
  double wake_ = kNever;
  int slots_ = 0;
  int busy_ = 0;
  double racks_ = 0;
  double gang_starts_ = 0;
  JobSimulation result_;
};

}  // namespace

JobSimulation simulate_jobs(const JobTrace& trace, const Policy& policy,
                            const JobSimulationOptions& options) {
  return World(trace, policy, options).run();
}

}  // namespace hocket
