// The coordinator and its agents under virtual time: every seed is another cluster in which the coordinator,
// agents and jobs are killed and connections break at random moments. Only the store and the checkpoints
// last.

#include <gtest/gtest.h>

#include <algorithm>
#include <deque>
#include <memory>
#include <set>

#include "base/error.h"
#include "base/rng.h"
#include "jobs/job_agent.h"
#include "jobs/job_coordinator.h"
#include "jobs/memory_job_store.h"

namespace hocket {
namespace {

constexpr double kStep = 0.1;

constexpr double kMeeting = 3;  // For how long parts of a gang wait for each other.

// What really runs, wherever: the judge of "never twice at once".
struct Witness {
  std::map<JobId, std::map<JobAttempt, std::set<int>>> running;  // Which parts.
  std::map<JobId, double> checkpoints;                           // Seconds of work that are safe.
  std::map<JobId, int> finished;
  int spanning = 0;  // Attempts on several machines that met.

  bool is_idle() const {
    return std::all_of(running.begin(), running.end(), [](const auto& each) { return each.second.empty(); });
  }
  const std::set<int>& parts(const JobAttempt& which) { return running[which.job][which]; }
  void end(const JobAttempt& which, int part) {
    auto& attempts = running[which.job];
    attempts[which].erase(part);
    if (attempts[which].empty()) attempts.erase(which);
  }
};

class FakeProcesses final : public JobProcesses {
 public:
  FakeProcesses(Witness& witness, double length) : witness_(witness), length_(length) {}

  void start(const StartAttempt& start) override {
    auto& attempts = witness_.running[start.which.job];
    EXPECT_TRUE(attempts.empty() || attempts.begin()->first == start.which)
        << "job " << start.which.job << " runs twice";
    EXPECT_TRUE(attempts[start.which].insert(start.part).second);
    processes_[start.which] = {start, witness_.checkpoints[start.which.job]};
    int held = 0;
    for (const auto& [which, process] : processes_) held += process.workers();
    EXPECT_LE(held, most_workers) << "more workers than slots";
  }
  void interrupt(const JobAttempt& which) override { interrupted_.insert(which); }
  void kill(const JobAttempt& which) override { killed_.insert(which); }

  void kill_one(Rng& rng) {
    if (!processes_.empty())
      killed_.insert(std::next(processes_.begin(), static_cast<long>(rng.below(processes_.size())))->first);
  }
  void kill_all() {
    for (const auto& [which, process] : processes_) witness_.end(which, process.start.part);
    processes_.clear();
  }

  int most_workers = 2;

  std::vector<AttemptEnded> advance() {
    std::vector<AttemptEnded> all;
    for (auto each = processes_.begin(); each != processes_.end();) {
      const auto current = each++;
      const auto ended =
          current->second.start.part == 0 ? advance_first(current->second) : advance_other(current->second);
      if (!ended) continue;
      witness_.end(current->first, current->second.start.part);
      processes_.erase(current);
      all.push_back(*ended);
    }
    return all;
  }

 private:
  struct Process {
    StartAttempt start;
    double work = 0;
    double waited = 0;
    bool has_met = false;

    int workers() const { return start.parts.at(static_cast<std::size_t>(start.part)).workers; }
  };

  static AttemptEnded end_of(const Process& process, int exit_code, int signal = 0) {
    AttemptEnded ended;
    ended.which = process.start.which;
    ended.exit_code = exit_code;
    ended.signal = signal;
    return ended;
  }

  bool meets(Process& process) {
    if (process.has_met) return true;
    process.waited += kStep;
    process.has_met = witness_.parts(process.start.which).size() == process.start.parts.size();
    if (process.has_met && process.start.part == 1) ++witness_.spanning;
    return process.has_met;
  }

  // Ends with the first.
  std::optional<AttemptEnded> advance_other(Process& process) {
    const JobAttempt which = process.start.which;
    if (killed_.contains(which)) return end_of(process, -1, 9);
    const bool is_late = !meets(process) && process.waited > kMeeting;
    const bool is_left = process.has_met && !witness_.parts(which).contains(0);
    return is_late || is_left ? std::optional(end_of(process, 4)) : std::nullopt;
  }

  std::optional<AttemptEnded> advance_first(Process& process) {
    const JobAttempt which = process.start.which;
    if (killed_.contains(which)) return end_of(process, -1, 9);
    if (!meets(process)) {
      const bool gives_up = process.waited > kMeeting || interrupted_.contains(which);
      return gives_up ? std::optional(end_of(process, 4)) : std::nullopt;
    }
    if (witness_.parts(which).size() < process.start.parts.size()) return end_of(process, 4);
    process.work += kStep;
    if (process.work >= length_) {
      ++witness_.finished[which.job];
      return end_of(process, 0);
    }
    if (!interrupted_.contains(which)) return std::nullopt;
    witness_.checkpoints[which.job] = process.work;
    return end_of(process, 130);
  }

  Witness& witness_;
  double length_;
  std::map<JobAttempt, Process> processes_;
  std::set<JobAttempt> interrupted_, killed_;
};

// One machine: its agent, its connection, and the messages on the way.
struct SimulatedMachine {
  std::string name;
  std::unique_ptr<FakeProcesses> processes;
  std::unique_ptr<JobAgent> agent;  // None while it is dead.
  bool is_connected = false;
  int index = -1;
  std::deque<JobMessage> to_agent, to_coordinator;
  double back_at = 0;
};

class SimulatedJobs final : public JobOutbox {
 public:
  SimulatedJobs(std::uint64_t seed, const char* policy) : rng_{seed} {
    options_.policy = &find_policy(policy);
    options_.policy_options.slot = 1;
    options_.most_restarts = 100000;
    for (const char* name : {"a", "b"}) {
      machines_.emplace_back();
      machines_.back().name = name;
    }
    make_coordinator();
  }

  void send(int machine, const JobMessage& message) override {
    for (SimulatedMachine& each : machines_) {
      if (each.is_connected && each.index == machine) each.to_agent.push_back(message);
    }
  }

  void submit(int workers, int least = 1) {
    JobRecord record;
    record.job.name = "job";
    record.job.min_workers = least;
    record.job.spans_machines = least > 2;
    record.job.max_workers = workers;
    coordinator_->submit(record, now_);
  }

  void step(bool has_faults) {
    now_ += kStep;
    if (has_faults) break_something();
    if (!coordinator_ && now_ >= coordinator_back_) make_coordinator();
    for (SimulatedMachine& machine : machines_) step_machine(machine);
    if (coordinator_) coordinator_->decide(now_);
  }

  bool all_done() const {
    if (!coordinator_) return false;
    for (const auto& [id, record] : coordinator_->records()) {
      if (record.is_active()) return false;
    }
    return witness.is_idle();
  }

  JobCoordinator& coordinator() { return *coordinator_; }
  MemoryJobStore store;
  Witness witness;

 private:
  void make_coordinator() {
    coordinator_ = std::make_unique<JobCoordinator>(store, options_, *this, [](std::string_view) {});
  }

  void disconnect(SimulatedMachine& machine) {
    if (machine.is_connected && coordinator_) coordinator_->on_departure(machine.index);
    machine.is_connected = false;
    machine.to_agent.clear();
    machine.to_coordinator.clear();
  }

  void break_something() {
    SimulatedMachine& machine = machines_[rng_.below(machines_.size())];
    const double dice = rng_.uniform();
    if (dice < 0.01) {
      coordinator_.reset();
      coordinator_back_ = now_ + rng_.uniform(0, 1);
      for (SimulatedMachine& each : machines_) disconnect(each);
    } else if (dice < 0.02) {  // Its guard ends its jobs with it.
      if (machine.processes) machine.processes->kill_all();
      disconnect(machine);
      machine.agent.reset();
      machine.back_at = now_ + rng_.uniform(0, 1);
    } else if (dice < 0.04) {
      disconnect(machine);
    } else if (dice < 0.07 && machine.processes) {
      machine.processes->kill_one(rng_);
    }
  }

  void step_machine(SimulatedMachine& machine) {
    if (!machine.agent) {
      if (now_ < machine.back_at) return;
      machine.processes = std::make_unique<FakeProcesses>(witness, 3.0);
      if (options_.policy->decide == decide_pack) machine.processes->most_workers = 4;
      AgentArrives self;
      self.name = machine.name;
      self.slots = 2;
      machine.agent = std::make_unique<JobAgent>(self, 5.0, *machine.processes);
    }
    for (const AttemptEnded& ended : machine.processes->advance())
      say(machine, machine.agent->on_exit(ended));
    machine.agent->on_tick(now_);
    if (!machine.is_connected && coordinator_ && rng_.uniform() < 0.3) connect(machine);
    if (machine.is_connected) exchange(machine);
  }

  void connect(SimulatedMachine& machine) {
    machine.is_connected = true;
    const auto message = decode_job_message(encode(JobMessage(machine.agent->arrival())));
    machine.index = coordinator_->machine_of(std::get<AgentArrives>(message));
    coordinator_->on_arrival(machine.index, std::get<AgentArrives>(message), now_);
  }

  void say(SimulatedMachine& machine, const JobMessage& message) {
    if (machine.is_connected) machine.to_coordinator.push_back(decode_job_message(encode(message)));
  }

  // Some of what is on the way arrives.
  void exchange(SimulatedMachine& machine) {
    while (!machine.to_agent.empty() && rng_.uniform() < 0.8) {
      const JobMessage message = decode_job_message(encode(machine.to_agent.front()));
      machine.to_agent.pop_front();
      for (const JobMessage& answer : machine.agent->on_message(message, now_)) say(machine, answer);
    }
    while (!machine.to_coordinator.empty() && rng_.uniform() < 0.8) {
      const JobMessage message = machine.to_coordinator.front();
      machine.to_coordinator.pop_front();
      if (const auto* ended = std::get_if<AttemptEnded>(&message))
        coordinator_->on_ended(machine.index, *ended, now_);
    }
  }

  Rng rng_;
  JobCoordinatorOptions options_;
  double now_ = 1000;
  double coordinator_back_ = 0;
  std::vector<SimulatedMachine> machines_;
  std::unique_ptr<JobCoordinator> coordinator_;
};

TEST(JobCrashes, NoJobIsLostNoneRunsTwiceAtOnceAllFinish) {
  int spanning = 0;
  for (std::uint64_t seed = 0; seed < 90; ++seed) {
    SCOPED_TRACE(seed);
    const Policy& policy = all_policies()[seed % all_policies().size()];
    SimulatedJobs cluster(seed, policy.name);
    for (int i = 0; i < 6; ++i) cluster.submit(i % 3 == 0 ? 2 : 1);
    cluster.submit(3, 3);  // On both machines.
    for (int i = 0; i < 300; ++i) cluster.step(true);
    int steps = 0;
    while (!cluster.all_done() && ++steps < 3000) cluster.step(false);
    ASSERT_TRUE(cluster.all_done());
    for (const auto& [id, record] : cluster.coordinator().records()) {
      EXPECT_EQ(record.job.state, JobState::done) << record.reason;
      EXPECT_GE(cluster.witness.finished[id], 1);
    }
    if (HasFailure()) return;
    spanning += cluster.witness.spanning;
  }
  EXPECT_GE(spanning, 90);
}

TEST(JobCrashes, WhatTheDiskDoesNotTakeDoesNotHappen) {
  SimulatedJobs cluster(1, "fifo");
  cluster.submit(1);
  cluster.store.is_full = true;
  EXPECT_THROW(cluster.submit(1), Error);
  EXPECT_EQ(cluster.coordinator().records().size(), 1u);
  EXPECT_THROW(for (int i = 0; i < 50; ++i) cluster.step(false), Error);
  EXPECT_TRUE(cluster.witness.is_idle());
  EXPECT_EQ(cluster.coordinator().record(1).job.state, JobState::waiting);
  cluster.store.is_full = false;
  for (int i = 0; i < 200 && !cluster.all_done(); ++i) cluster.step(false);
  EXPECT_EQ(cluster.coordinator().record(1).job.state, JobState::done);
}

TEST(JobCoordinator, JobsOfAMachineThatIsAwayGoElsewhereOnceSomebodySaysSo) {
  MemoryJobStore store;
  struct Nobody final : JobOutbox {
    void send(int /*machine*/, const JobMessage& /*message*/) override {}
  } outbox;
  JobCoordinatorOptions options;
  options.policy = &find_policy("fifo");
  JobCoordinator coordinator(store, options, outbox, [](std::string_view) {});
  AgentArrives agent;
  agent.name = "a";
  coordinator.machine_of(agent);
  JobRecord record;
  const JobId id = coordinator.submit(record, 1);
  coordinator.decide(2);
  EXPECT_EQ(coordinator.record(id).job.state, JobState::running);
  EXPECT_THROW(coordinator.release("a", 3), ConfigError);
  coordinator.on_departure(0);
  coordinator.decide(4);
  EXPECT_EQ(coordinator.record(id).job.state, JobState::running);  // Nobody knows better.
  EXPECT_EQ(coordinator.release("a", 5), 1);
  agent.name = "b";
  coordinator.machine_of(agent);
  coordinator.decide(6);
  EXPECT_EQ(coordinator.record(id).job.state, JobState::running);
  EXPECT_TRUE(coordinator.record(id).is_on(1));
}

TEST(JobCoordinator, AJobLargerThanEveryMachineIsRefused) {
  SimulatedJobs cluster(1, "fifo");
  for (int i = 0; i < 50; ++i) cluster.step(false);
  JobRecord record;
  record.job.min_workers = record.job.max_workers = 3;
  record.job.spans_machines = false;
  EXPECT_THROW(cluster.coordinator().submit(record, 1), ConfigError);
  record.job.spans_machines = true;
  EXPECT_NO_THROW(cluster.coordinator().submit(record, 1));
  record.job.min_workers = record.job.max_workers = 5;
  EXPECT_THROW(cluster.coordinator().submit(record, 1), ConfigError);
}

}  // namespace
}  // namespace hocket
