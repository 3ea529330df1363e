#include "jobs/place_job.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace hocket {
namespace {

// Two racks of two machines; what is free on each.
std::vector<ClusterMachine> machines(std::initializer_list<int> free) {
  std::vector<ClusterMachine> all;
  for (const int slots : free)
    all.push_back({fmt::format("m{}", all.size()), slots, 100, static_cast<int>(all.size() / 2), true});
  return all;
}

ClusterJob gang(int workers, double bytes_per_step) {
  ClusterJob job;
  job.min_workers = job.max_workers = workers;
  job.bytes_per_step = bytes_per_step;
  return job;
}

std::optional<Allocation> place(const std::vector<ClusterMachine>& all, const ClusterJob& job) {
  return place_job(FreeSlots(all), job, job.min_workers, true);
}

TEST(PlaceJob, TakesTheMachineThatItLeavesFullest) {
  EXPECT_EQ(place(machines({4, 2, 3, 8}), gang(2, 1)), (Allocation{{1, 2}}));
}

TEST(PlaceJob, ChattyJobsStayInOneRackAndOthersFillGaps) {
  const auto all = machines({1, 3, 3, 3});
  EXPECT_EQ(place(all, gang(5, 1)), (Allocation{{2, 3}, {3, 2}}));
  EXPECT_EQ(place(all, gang(4, 1)), (Allocation{{1, 3}, {0, 1}}));  // The smaller rack suffices.
  EXPECT_EQ(place(all, gang(4, 0)), (Allocation{{0, 1}, {3, 3}}));
}

TEST(PlaceJob, IsAllOrNothing) {
  EXPECT_FALSE(place(machines({1, 3, 3, 3}), gang(11, 1)));
  const auto all = machines({1, 3, 3, 3});
  EXPECT_FALSE(place_job(FreeSlots(all), gang(4, 1), 4, false));
}

TEST(PlaceJob, MemoryCounts) {
  ClusterJob job = gang(2, 0);
  job.memory_bytes = 60;  // One worker a machine.
  EXPECT_EQ(place(machines({4, 4}), job)->size(), 2u);
  job.memory_bytes = 101;
  EXPECT_FALSE(place(machines({4, 4}), job));
}

TEST(PlaceJob, AbsentMachinesTakeNothing) {
  auto all = machines({4, 2});
  all[1].is_present = false;
  EXPECT_EQ(place(all, gang(2, 0)), (Allocation{{0, 2}}));
  EXPECT_FALSE(place(all, gang(5, 0)));
}

}  // namespace
}  // namespace hocket
