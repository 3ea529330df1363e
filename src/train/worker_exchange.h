#pragma once

#include <condition_variable>
#include <exception>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

#include "net/wake.h"
#include "ps/node_network.h"
#include "ps/worker.h"

namespace hocket {

// A worker's talk with the servers, in a thread of its own, so that it goes on while a gradient is computed.
// The thread that computes takes tasks and gives back gradients; a failure of the other thread surfaces
// there.
class WorkerExchange {
 public:
  // Network and memory belong to the thread from now on.
  WorkerExchange(const WorkerOptions& options, NodeNetwork& network, WorkerMemory& memory,
                 const ClusterTiming& timing = {});
  ~WorkerExchange();

  // The next gradient that is wanted; nothing when the run is over. Throws NetError when the coordinator is
  // gone for good.
  std::optional<Worker::Task> next();
  // What next() asked for: a push for each range, if it is to be pushed.
  void finish(std::vector<Push> pushes);

  double waited() const { return waited_; }  // Seconds in next(): by the thread that calls it.

 private:
  void talk(const std::stop_token& stop);
  void advance(Worker& worker, TimePoint now);

  WorkerOptions options_;
  NodeNetwork& network_;
  WorkerMemory& memory_;
  ClusterTiming timing_;
  Wake wake_;
  double waited_ = 0;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Worker::Task> task_;  // Guarded by mutex_, as are all that follow.
  std::optional<std::vector<Push>> pushes_;
  bool is_computing_ = false;
  bool is_over_ = false;
  std::exception_ptr failure_;
  std::jthread thread_;
};

}  // namespace hocket
