#pragma once

#include <memory>
#include <vector>

#include "cli/bench/peer_process.h"
#include "cli/bench/ps_setup.h"
#include "net/socket.h"

namespace hocket {

// The processes of a setup on this machine: coordinator, servers and workers, as those of a run, which wait
// between measurements. They end with the object. The calling process must have a single thread. Throws
// Error when they fail.
class PsCluster {
 public:
  explicit PsCluster(const PsSetup& setup);

  double steps_per_second(double seconds);  // Of all workers together, who work for about that long.

 private:
  FileDescriptor port_ = reserve_port("127.0.0.1");  // Of the coordinator.
  std::vector<std::unique_ptr<PeerProcess>> others_;
  std::vector<std::unique_ptr<PeerProcess>> workers_;
};

}  // namespace hocket
