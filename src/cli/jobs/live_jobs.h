#pragma once

#include <mutex>
#include <string>

#include "cli/jobs/scheduler_place.h"
#include "report/serve/live_curves.h"

namespace hocket {

// The queue of a scheduler as it is now, with the curves of its running jobs. It asks the coordinator, not
// the queue's file: only the coordinator knows which machines are there, and SQLite's log must not be read
// from another host. While that does not answer, the last answer stands, with the trouble told. Thread-safe.
class LiveJobs {
 public:
  explicit LiveJobs(SchedulerPlace place) : place_(std::move(place)) {}

  std::string data();  // JSON, as render_jobs_page() wants it.

 private:
  std::string ask();

  SchedulerPlace place_;
  std::mutex mutex_;
  LiveCurves curves_;  // With what follows: guarded by mutex_.
  std::string data_;
  TimePoint next_ask_{};
};

}  // namespace hocket
