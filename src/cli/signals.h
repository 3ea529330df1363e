#pragma once

#include <signal.h>

#include <atomic>
#include <thread>

namespace hocket {

// Ignores SIGPIPE: a write to a reader that has gone is an error like any other.
void ignore_broken_pipes();

// While it lives, the first SIGINT or SIGTERM sets a flag and the second one ends the process at once, but
// for a SIGTERM within a second of the first one, which counts as the same. A thread of its own waits for
// them: a handler on a computing thread would write its frame over what oneDNN's generated code keeps below
// the stack pointer. Threads started while it lives leave these signals to it, so make it before all others.
// Used by one thread.
class StopSignals {
 public:
  explicit StopSignals(bool is_quiet = false);  // Else the first signal is answered on standard error.
  ~StopSignals();
  StopSignals(const StopSignals&) = delete;
  StopSignals& operator=(const StopSignals&) = delete;

  const std::atomic<bool>& stop() const { return stop_; }
  int exit_code() const;  // kInterrupted, or kTerminated after SIGTERM.

 private:
  void wait_for_signals();

  bool is_quiet_;
  std::atomic<bool> stop_{false};
  std::atomic<bool> has_ended_{false};
  std::atomic<int> first_signal_{0};
  sigset_t signals_{};
  sigset_t mask_before_{};
  std::jthread thread_;
};

}  // namespace hocket
