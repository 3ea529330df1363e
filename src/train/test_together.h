#pragma once

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "net/run_ranks.h"
#include "train/test_stop.h"

namespace hocket {

constexpr int kWorkers = 3;

// Trains on ranks that are threads. Rank 1 wants to stop after so many of its own steps; never, if negative.
inline std::vector<TrainResult> train_together(const TrainOptions& options, int ranks = kWorkers,
                                               int stop_after = -1) {
  std::vector<TrainResult> results(static_cast<std::size_t>(ranks));
  if (ranks == 1) {
    TrainObserver nobody;
    const std::atomic<bool> stop{false};
    Team alone;
    results[0] = train(options, nobody, stop, alone);
    return results;
  }
  const auto body = [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    std::atomic<bool> stop{false};
    StopAfter observer(rank == 1 ? stop_after : -1, stop);
    Team team(std::move(transport), Mesh::parse("", ranks));
    results[rank] = train(options, observer, stop, team);
  };
  for (const std::string& error : run_ranks(ranks, body)) EXPECT_EQ(error, "");
  return results;
}

}  // namespace hocket
