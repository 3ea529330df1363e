// What agents tell about the throughput of jobs that share slots, and what pack makes of it.

#include <gtest/gtest.h>

#include "jobs/job_coordinator.h"
#include "jobs/memory_job_store.h"

namespace hocket {
namespace {

struct Sent final : JobOutbox {
  void send(int /*machine*/, const JobMessage& message) override { all.push_back(message); }
  bool has_stop_of(JobId job) const {
    for (const JobMessage& message : all) {
      if (const auto* stop = std::get_if<StopAttempt>(&message); stop != nullptr && stop->which.job == job)
        return true;
    }
    return false;
  }
  std::vector<JobMessage> all;
};

// One slot, on which job 1 was alone and did 100 samples a second; job 2 then came to share it.
class JobPaceTest : public testing::Test {
 protected:
  JobPaceTest() : coordinator_(store_, options(), sent_, [](std::string_view) {}) {
    AgentArrives agent;
    agent.name = "a";
    coordinator_.machine_of(agent);
    coordinator_.submit({}, 1);
    coordinator_.decide(2);
    for (const double rate : {20.0, 100.0, 100.0}) tell(1, rate);  // The first with its start in it.
    coordinator_.submit({}, 3);
    coordinator_.decide(4);
    EXPECT_EQ(coordinator_.record(2).job.host, 1);
  }

  static JobCoordinatorOptions options() {
    JobCoordinatorOptions options;
    options.policy = &find_policy("pack");
    return options;
  }
  void tell(JobId job, double rate) {
    coordinator_.on_rate(0, {{job, coordinator_.record(job).attempt}, rate});
  }

  MemoryJobStore store_;
  Sent sent_;
  JobCoordinator coordinator_;
};

TEST_F(JobPaceTest, APairThatIsNoFasterThanOneAloneIsParted) {
  for (const double rate : {75.0, 50.0, 60.0})
    tell(1, rate);  // The first of a time in which it was alone, too.
  EXPECT_FALSE(coordinator_.record(1).job.pace);
  tell(1, 40);
  EXPECT_EQ(coordinator_.record(1).job.pace, 0.5);
  coordinator_.decide(5);
  EXPECT_TRUE(sent_.has_stop_of(2));
  EXPECT_TRUE(coordinator_.record(1).job.shares_badly);
  coordinator_.on_ended(0, {{2, 1}, 130, 0, "", ""}, 6);
  EXPECT_FALSE(coordinator_.record(1).job.pace);
  coordinator_.decide(7);
  EXPECT_EQ(coordinator_.record(2).job.state, JobState::waiting);
}

TEST_F(JobPaceTest, APairThatPaysStaysTogether) {
  for (int i = 0; i < 20; ++i) {
    tell(1, 90);
    tell(2, 7);  // It was never alone: nobody knows what that is worth.
    coordinator_.decide(5 + i);
  }
  EXPECT_EQ(coordinator_.record(1).job.pace, 0.9);
  EXPECT_FALSE(coordinator_.record(2).job.pace);
  EXPECT_FALSE(sent_.has_stop_of(2));
}

TEST_F(JobPaceTest, WhatIsSaidOfAnotherAttemptOrByAnotherMachineDoesNotCount) {
  for (int i = 0; i < 5; ++i) {
    coordinator_.on_rate(1, {{1, 1}, 1});
    coordinator_.on_rate(0, {{1, 7}, 1});
    coordinator_.on_rate(0, {{77, 1}, 1});
    tell(1, 0);
  }
  EXPECT_FALSE(coordinator_.record(1).job.pace);
}

TEST_F(JobPaceTest, TheRateAloneOutlivesTheCoordinator) {
  coordinator_.on_ended(0, {{1, 1}, 130, 0, "", ""}, 6);
  JobCoordinator next(store_, options(), sent_, [](std::string_view) {});
  EXPECT_EQ(next.record(1).rate_alone, 100);
}

}  // namespace
}  // namespace hocket
