#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "cli/bench/peer_process.h"
#include "net/world.h"

namespace hocket {

// The ranks of a job on this machine, a process each, and the coordinator that they meet at in one more. The
// processes end with the object.
struct BenchJob {
  std::unique_ptr<PeerProcess> coordinator;
  std::vector<std::unique_ptr<PeerProcess>> ranks;
};

// Every rank joins the job and runs `body`. The calling process must have a single thread.
BenchJob start_bench_job(int ranks, const WorldOptions& options, const std::function<void(World&)>& body);

}  // namespace hocket
