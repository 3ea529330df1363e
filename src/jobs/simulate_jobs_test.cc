#include "jobs/simulate_jobs.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <map>
#include <numeric>

#include "base/error.h"
#include "jobs/job_figures.h"
#include "jobs/place_job.h"

namespace hocket {
namespace {

std::vector<ClusterMachine> machines_of(int count, int slots, int in_rack = 2) {
  std::vector<ClusterMachine> machines;
  for (int i = 0; i < count; ++i) machines.push_back({fmt::format("m{}", i), slots, 0, i / in_rack, true});
  return machines;
}

JobTrace random_trace(std::uint64_t seed, int jobs, double load, double elastic) {
  GeneratedTrace options;
  options.seed = seed;
  options.jobs = jobs;
  options.load = load;
  options.slots = 8;
  options.owners = 3;
  options.elastic = elastic;
  return generate_job_trace(options);
}

double work_of(const JobTrace& trace) {
  return std::accumulate(trace.begin(), trace.end(), 0.0, [](double sum, const ClusterJob& job) {
    return sum + *job.length * job.max_workers;
  });
}

// No machine holds more than it has, gangs are whole, and at most two jobs share.
void check_capacity(const ClusterState& state) {
  std::vector<int> held(state.machines.size(), 0);
  std::map<JobId, int> guests;
  for (const std::size_t index : state.running) {
    const ClusterJob& job = state.jobs[index];
    RC_ASSERT(job.workers() >= job.min_workers && job.workers() <= job.max_workers);
    if (job.host) RC_ASSERT(++guests[*job.host] == 1);
    for (const JobShare& share : job.allocation) {
      RC_ASSERT(share.workers > 0);
      if (!job.host) held[static_cast<std::size_t>(share.machine)] += share.workers;
    }
  }
  for (std::size_t i = 0; i < held.size(); ++i) RC_ASSERT(held[i] <= state.machines[i].slots);
  for (const std::size_t index : state.waiting) RC_ASSERT(state.jobs[index].allocation.empty());
}

TEST(SimulateJobs, FifoWithUnlimitedMachinesTakesExactlyTheDurations) {
  const JobTrace trace = random_trace(1, 500, 2, 0);
  JobSimulationOptions options;
  options.machines = machines_of(500, 16);
  const JobSimulation simulation = simulate_jobs(trace, find_policy("fifo"), options);
  double lengths = 0, completions = 0;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    lengths += *trace[i].length;
    completions += simulation.outcomes[i].completion();
  }
  EXPECT_EQ(completions, lengths);
}

RC_GTEST_PROP(SimulateJobs, EveryPolicyKeepsTheInvariants, ()) {
  const auto seed = *rc::gen::inRange<std::uint64_t>(0, 1 << 20);
  const int jobs = *rc::gen::inRange(1, 60);
  const double load = *rc::gen::element(0.5, 0.9, 2.0, 20.0);
  const double elastic = *rc::gen::element(0.0, 0.5);
  const JobTrace trace = random_trace(seed, jobs, load, elastic);
  for (const Policy& policy : all_policies()) {
    JobSimulationOptions options;
    options.machines = machines_of(4, 2);
    options.policy.slot = *rc::gen::element(60.0, 600.0, 3600.0);
    options.policy.patience = 86400;
    options.observer = check_capacity;
    const JobSimulation simulation = simulate_jobs(trace, policy, options);
    for (const JobOutcome& outcome : simulation.outcomes) {
      RC_ASSERT(outcome.finish >= 0);  // Nobody starves.
      RC_ASSERT(outcome.first_start >= outcome.submitted);
      RC_ASSERT(outcome.completion() >= outcome.length * (1 - 1e-9));
    }
    RC_ASSERT(std::abs(simulation.useful_seconds - work_of(trace)) <= 1e-6 * work_of(trace));
    if (simulation.shared_starts == 0)
      RC_ASSERT(simulation.held_seconds >= simulation.useful_seconds * (1 - 1e-9));
  }
}

TEST(SimulateJobs, WithoutSwitchCostAllThatIsHeldIsUseful) {
  const JobTrace trace = random_trace(7, 200, 3, 0.5);
  for (const char* name : {"fifo", "sjf", "fair", "slots", "las"}) {
    JobSimulationOptions options;
    options.machines = machines_of(4, 2);
    options.switch_cost = 0;
    const JobSimulation simulation = simulate_jobs(trace, find_policy(name), options);
    EXPECT_NEAR(simulation.held_seconds / work_of(trace), 1, 1e-9) << name;
  }
}

TEST(SimulateJobs, ShortJobsFirstAndLeastServiceFirstBeatFirstComeFirstServed) {
  const JobTrace trace = random_trace(3, 400, 1.2, 0);
  std::map<std::string, double> means;
  JobSimulationOptions options;
  options.machines = machines_of(4, 2);
  for (const char* name : {"fifo", "sjf", "las"}) {
    means[name] =
        figures_of(trace, simulate_jobs(trace, find_policy(name), options), options.machines).mean_completion;
  }
  EXPECT_LT(means["sjf"], 0.8 * means["fifo"]);
  EXPECT_LT(means["las"], 0.8 * means["fifo"]);
}

TEST(SimulateJobs, LongerSlotsSwitchLessAndLetNewJobsWaitLonger) {
  const JobTrace trace = random_trace(4, 200, 1.5, 0);
  JobSimulationOptions options;
  options.machines = machines_of(4, 2);
  std::vector<JobFigures> figures;
  for (const double slot : {60.0, 600.0, 3600.0}) {
    options.policy.slot = slot;
    figures.push_back(
        figures_of(trace, simulate_jobs(trace, find_policy("slots"), options), options.machines));
  }
  EXPECT_GT(figures[0].preemptions, figures[1].preemptions);
  EXPECT_GT(figures[1].preemptions, figures[2].preemptions);
  EXPECT_LT(figures[0].useful_share, figures[1].useful_share);
  EXPECT_LT(figures[1].useful_share, figures[2].useful_share);
}

TEST(SimulateJobs, ThreeJobsOnTwoSlotsGetEqualShares) {
  JobTrace trace(3);
  for (std::size_t i = 0; i < 3; ++i) {
    trace[i].id = static_cast<JobId>(i);
    trace[i].length = 1000;
  }
  JobSimulationOptions options;
  options.machines = machines_of(1, 2);
  options.policy.slot = 10;
  options.switch_cost = 0;
  std::vector<double> attained(3);
  options.observer = [&](const ClusterState& state) {
    if (state.now != 100) return;
    for (std::size_t i = 0; i < 3; ++i) attained[i] = state.jobs[i].attained_at(state.now);
  };
  simulate_jobs(trace, find_policy("slots"), options);
  for (const double seconds : attained) EXPECT_NEAR(seconds / 200, 1.0 / 3, 0.05);
}

TEST(SimulateJobs, JobLargerThanTheClusterIsRefused) {
  JobTrace trace(1);
  trace[0].length = 1;
  trace[0].min_workers = trace[0].max_workers = 9;
  JobSimulationOptions options;
  options.machines = machines_of(4, 2);
  EXPECT_THROW(simulate_jobs(trace, find_policy("fifo"), options), DataError);
}

}  // namespace
}  // namespace hocket
