#pragma once

#include <atomic>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>

#include "net/clock.h"
#include "net/rank.h"

namespace hocket {

// What a rank knows of its job: all is well, or who failed first and how. Whoever notices a failure reports
// it here; whoever waits looks here. Thread-safe; failed() costs one load.
class Health {
 public:
  struct Failure {
    Rank culprit = -1;  // Rank in the job; -1 when no rank is to blame.
    std::string what;   // As in "rank 2 (pid 4711) was killed by signal 9".
  };

  bool failed() const noexcept { return failed_.load(std::memory_order_acquire); }
  Failure failure() const;  // Only when failed().

  // Records the first failure (later ones change nothing) and passes it to the listener.
  void report(const Failure& failure);

  // For one who saw a connection to `suspect` end: the true culprit may be somebody else, of whom a message
  // is under way. Waits up to `grace` for a report, then reports the suspect itself. Returns what is now
  // recorded.
  Failure settle(const Failure& suspect, Seconds grace = Seconds(0.4));

  // Called once, in the thread that reports first, with no lock held. To be set before any thread reports.
  void set_listener(std::function<void(const Failure&)> listener) { listener_ = std::move(listener); }

 private:
  std::atomic<bool> failed_ = false;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  Failure failure_;
  std::function<void(const Failure&)> listener_;
};

}  // namespace hocket
