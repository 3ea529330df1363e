#include "jobs/policy.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <map>

#include "base/error.h"
#include "jobs/simulate_jobs.h"
#include "jobs/start_jobs.h"

namespace hocket {
namespace {

ClusterJob job_of(JobId id, int workers, double length, double submitted = 0) {
  ClusterJob job;
  job.id = id;
  job.min_workers = job.max_workers = workers;
  job.length = length;
  job.submitted = job.waiting_since = submitted;
  return job;
}

// One machine; the jobs with an allocation run.
ClusterState state_of(int slots, std::vector<ClusterJob> jobs, double now) {
  ClusterState state;
  state.now = now;
  state.machines = {{"m", slots, 0, 0, true}};
  state.jobs = std::move(jobs);
  for (std::size_t i = 0; i < state.jobs.size(); ++i)
    (state.jobs[i].allocation.empty() ? state.waiting : state.running).push_back(i);
  return state;
}

ClusterJob running(ClusterJob job, double since) {
  job.state = JobState::running;
  job.allocation = {{0, job.max_workers}};
  job.started = job.slice_began = since;
  return job;
}

std::vector<std::size_t> started(const Decisions& decisions) {
  std::vector<std::size_t> jobs;
  for (const JobStart& start : decisions.starts) jobs.push_back(start.job);
  return jobs;
}

using Jobs = std::vector<std::size_t>;

TEST(Fifo, OnlyJobsThatDoNotDelayTheHeadPassIt) {
  // The head needs all four slots and can have them at 100.
  const auto state = state_of(4,
                              {running(job_of(0, 2, 100), 0), job_of(1, 4, 50, 1), job_of(2, 1, 101, 2),
                               job_of(3, 1, 90, 3), job_of(4, 1, 90, 4), job_of(5, 1, 5, 5)},
                              10);
  EXPECT_EQ(started(decide_fifo(state, {})), (Jobs{3, 4}));
}

TEST(Fifo, LengthsThatNobodyKnowsAreNotCountedOn) {
  auto state = state_of(4, {running(job_of(0, 3, 100), 0), job_of(1, 4, 50, 1), job_of(2, 1, 1, 2)}, 10);
  EXPECT_EQ(started(decide_fifo(state, {})), (Jobs{2}));
  state.jobs[0].length.reset();  // It may end at any moment, and then the head must start.
  EXPECT_EQ(started(decide_fifo(state, {})), Jobs{});
}

TEST(Fifo, ALevelOfPriorityIsWorthAnHour) {
  auto state = state_of(1, {job_of(0, 1, 10, 0), job_of(1, 1, 10, 3000)}, 3000);
  EXPECT_EQ(started(decide_fifo(state, {})), (Jobs{0}));
  state.jobs[1].priority = 1;
  state.waiting = {1, 0};  // As whoever keeps the state orders them.
  EXPECT_EQ(started(decide_fifo(state, {})), (Jobs{1}));
  EXPECT_LT(arrival(state.jobs[1], {}), arrival(state.jobs[0], {}));
}

TEST(Sjf, TakesTheShortestButNotForEver) {
  auto state = state_of(1, {job_of(0, 1, 100, 0), job_of(1, 1, 10, 5)}, 10);
  EXPECT_EQ(started(decide_sjf(state, {})), (Jobs{1}));
  state.jobs[0].waiting_since = -1e9;
  EXPECT_EQ(started(decide_sjf(state, {})), (Jobs{0}));
}

TEST(Slots, WhoeverRanLeastOfItsLifeGetsTheSlotOfWhoeverRanMost) {
  PolicyOptions options;
  options.slot = 10;
  const auto jobs =
      std::vector{running(job_of(0, 1, 100), 0), running(job_of(1, 1, 100), 5), job_of(2, 1, 100, 3)};
  EXPECT_TRUE(decide_slots(state_of(2, jobs, 9), options).change_nothing());
  const Decisions at_end = decide_slots(state_of(2, jobs, 10), options);
  EXPECT_EQ(at_end.stops, (Jobs{0}));
  EXPECT_EQ(at_end.renewals, (Jobs{1}));
  EXPECT_EQ(at_end.wake, 20);
}

TEST(Slots, AGangGetsAllItsSlotsAtOnce) {
  PolicyOptions options;
  options.slot = 10;
  const auto state = state_of(3,
                              {running(job_of(0, 1, 100), 0), running(job_of(1, 1, 100), 0),
                               running(job_of(2, 1, 100), 0), job_of(3, 2, 100, 3)},
                              10);
  EXPECT_EQ(decide_slots(state, options).stops.size(), 2u);
}

TEST(Slots, WhatIsStoppingIsKeptForWhoeverIsNext) {
  PolicyOptions options;
  options.slot = 10;
  auto jobs = std::vector{running(job_of(0, 1, 100), 0), job_of(1, 2, 100, 3), job_of(2, 1, 100, 4)};
  jobs[0].state = JobState::stopping;
  // One slot is free, but both are for the gang.
  EXPECT_EQ(started(decide_slots(state_of(2, jobs, 11), options)), Jobs{});
  EXPECT_EQ(started(decide_slots(state_of(3, jobs, 11), options)), (Jobs{1}));
}

TEST(Las, WhoeverHasHadLittleGoesFirst) {
  PolicyOptions options;
  options.slot = 10;
  options.queues = {50};
  const auto jobs = std::vector{running(job_of(0, 1, 1000), 0), job_of(1, 1, 1000, 5)};
  EXPECT_TRUE(decide_las(state_of(1, jobs, 40), options).stops.empty());
  EXPECT_EQ(decide_las(state_of(1, jobs, 60), options).stops, (Jobs{0}));
}

TEST(Fair, OwnersGetEqualShares) {
  PolicyOptions options;
  options.slot = 10;
  std::vector<ClusterJob> jobs;
  for (int i = 0; i < 4; ++i) jobs.push_back(running(job_of(i, 1, 1000), 0));
  for (int i = 4; i < 8; ++i) jobs.push_back(job_of(i, 1, 1000, 3));
  for (auto& job : jobs) job.owner = job.id < 4 ? "a" : "b";
  EXPECT_EQ(decide_fair(state_of(4, jobs, 10), options).stops.size(), 2u);
}

TEST(Pack, SharesSlotsAndPartsBadPairs) {
  auto jobs = std::vector{running(job_of(0, 2, 1000), 0), job_of(1, 2, 1000, 1), job_of(2, 1, 1000, 2)};
  const Decisions packed = decide_pack(state_of(2, jobs, 5), {});
  ASSERT_EQ(started(packed), (Jobs{1}));
  EXPECT_EQ(packed.starts[0].host, 0);

  jobs[1] = running(jobs[1], 5);
  jobs[1].host = 0;
  jobs[0].pace = jobs[1].pace = 0.6;
  EXPECT_TRUE(decide_pack(state_of(2, jobs, 70), {}).stops.empty());
  jobs[0].pace = jobs[1].pace = 0.5;
  EXPECT_EQ(decide_pack(state_of(2, jobs, 70), {}).stops, (Jobs{1}));
}

TEST(Pack, MemoryMustSuffice) {
  auto jobs = std::vector{running(job_of(0, 1, 1000), 0), job_of(1, 1, 1000, 1)};
  for (auto& job : jobs) job.memory_bytes = 60;
  auto state = state_of(1, jobs, 5);
  EXPECT_EQ(started(decide_pack(state, {})), (Jobs{1}));
  state.machines[0].memory_bytes = 100;
  EXPECT_EQ(started(decide_pack(state, {})), Jobs{});
}

TEST(Elastic, JobsShrinkToLetOthersInAndGrowWhenNobodyWaits) {
  auto jobs = std::vector{running(job_of(0, 4, 1e6), 0), job_of(1, 2, 10, 900)};
  jobs[0].min_workers = 1;
  const Decisions shrink = decide_fifo(state_of(4, jobs, 1000), {});
  ASSERT_EQ(shrink.resizes.size(), 1u);
  EXPECT_EQ(workers_of(shrink.resizes[0].allocation), 2);

  jobs.pop_back();
  jobs[0].allocation = {{0, 2}};
  const Decisions grown = decide_fifo(state_of(4, jobs, 1000), {});
  ASSERT_EQ(grown.resizes.size(), 1u);
  EXPECT_EQ(workers_of(grown.resizes[0].allocation), 4);
  EXPECT_TRUE(decide_fifo(state_of(4, jobs, 100), {}).change_nothing());  // Not within its slot.
}

// Whatever passes the head: it starts when its first reservation said, or earlier.
RC_GTEST_PROP(Fifo, BackfillNeverDelaysTheHead, ()) {
  GeneratedTrace generated;
  generated.seed = *rc::gen::inRange<std::uint64_t>(0, 1 << 20);
  generated.jobs = *rc::gen::inRange(2, 60);
  generated.load = *rc::gen::element(0.9, 3.0, 20.0);
  generated.slots = 8;
  const JobTrace trace = generate_job_trace(generated);
  JobSimulationOptions options;
  for (int i = 0; i < 4; ++i) options.machines.push_back({"", 2, 0, i / 2, true});
  std::map<std::size_t, double> promises;
  options.observer = [&](const ClusterState& state) {
    if (state.waiting.empty()) return;
    const std::size_t head = state.waiting.front();
    promises.emplace(head, reserve(state, SlotLedger(state), {}, state.jobs[head]).when);
  };
  const JobSimulation simulation = simulate_jobs(trace, find_policy("fifo"), options);
  for (const auto& [job, when] : promises) RC_ASSERT(simulation.outcomes[job].first_start <= when);
}

TEST(FindPolicy, NamesTheNearest) {
  try {
    find_policy("lass");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_NE(std::string(error.what()).find("las"), std::string::npos);
  }
}

}  // namespace
}  // namespace hocket
