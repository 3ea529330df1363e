#include "cli/bench/collective_ranks.h"

#include <gtest/gtest.h>

namespace hocket {
namespace {

CollectiveTask tiny_task(TransportKind transport, int ranks) {
  CollectiveTask task;
  task.transport = transport;
  task.ranks = ranks;
  task.budget = {1e-4, 2, 10};
  return task;
}

TEST(CollectiveTask, CountsWhatEveryRankMovesOnEveryTransport) {
  for (const TransportKind transport : {TransportKind::inproc, TransportKind::shm, TransportKind::tcp}) {
    CollectiveTask task = tiny_task(transport, 3);
    task.cases = {{Collective::all_reduce, Algorithm::ring, 1200},
                  {Collective::barrier, Algorithm::bruck, 0}};
    const auto figures = run_collective_task(task);
    ASSERT_EQ(figures.size(), 2U);
    const CollectiveCounts ring = figures.front().counts.value();
    EXPECT_EQ(ring.rounds, 4);
    EXPECT_EQ(ring.fan_in, 1);
    EXPECT_EQ(ring.bytes_per_rank, 1600);
    EXPECT_EQ(ring.total_bytes, 4800);
    EXPECT_GT(figures.front().us.median, 0);
    EXPECT_EQ(figures.back().counts.value().total_bytes, 0);
  }
}

TEST(CollectiveTask, SmallSumsByDirectMoveAsAnExchangeDoes) {
  CollectiveTask task = tiny_task(TransportKind::inproc, 4);
  task.cases = {{Collective::all_reduce, Algorithm::automatic, 64},
                {Collective::all_reduce, Algorithm::automatic, 64'000}};
  const auto figures = run_collective_task(task);
  EXPECT_EQ(figures.front().algorithm, "direct");
  EXPECT_EQ(figures.front().counts.value().rounds, 1);
  EXPECT_EQ(figures.front().counts.value().bytes_per_rank, 3 * 64);
  EXPECT_EQ(figures.back().counts.value().rounds, 2);
  EXPECT_EQ(figures.back().counts.value().bytes_per_rank, 2 * 48'000);
}

}  // namespace
}  // namespace hocket
