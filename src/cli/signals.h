#pragma once

#include <atomic>

namespace hocket {

// Ignores SIGPIPE: a write to a reader that has gone is an error like any other.
void ignore_broken_pipes();

// While it lives, the first SIGINT or SIGTERM sets a flag and the second one ends the process at once. At
// most one exists at a time.
class StopSignals {
 public:
  StopSignals();
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>& stop() const;
  int exit_code() const;  // kInterrupted, or kTerminated after SIGTERM.
};

}  // namespace hocket
