#pragma once

#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "net/framed_stream.h"
#include "net/health.h"
#include "net/job.h"
#include "net/liveness.h"
#include "net/wake.h"

namespace hocket {

struct MonitorOptions {
  Rank coordinator_rank = -1;    // In whose process the coordinator lives; -1: in none.
  std::string coordinator_name;  // As in "the launcher (10.0.0.1:4711)".
  HeartbeatTiming heartbeat{};
  Member coordinator{};  // Its process.
};

// A rank's end of the connection to the coordinator after the meeting, with a thread of its own: beats, tells
// the coordinator of failures seen here, and reports to `health` failures seen elsewhere and the
// coordinator's own. It is the listener of `health`, which outlives it; nobody else reports while it is made
// or destroyed. Destroying it is a goodbye when all is well. Thread-safe.
class Monitor {
 public:
  Monitor(FramedStream coordinator, Health& health, MonitorOptions options);
  ~Monitor();

 private:
  void announce(const Health::Failure& failure);
  void watch(const std::stop_token& stop);
  void look();
  void hear();
  void pass_on_announcements();
  void report_coordinator(std::string_view how);

  FramedStream coordinator_;
  Health& health_;
  MonitorOptions options_;
  Liveness liveness_;
  bool is_watched_ = true;  // The coordinator is there.
  std::mutex mutex_;
  std::vector<Health::Failure> announcements_;
  Wake wake_;
  std::jthread thread_;
};

}  // namespace hocket
