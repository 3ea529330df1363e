#pragma once

#include <optional>
#include <vector>

#include "net/clock.h"
#include "net/rank.h"

namespace hocket {

struct SupervisorOptions {
  int world_size = 1;
  Seconds last_words{1.5};     // After the first failure, for the others to say what they know.
  Seconds termination{1.5};    // From SIGTERM to SIGKILL.
  Seconds interruption{15.0};  // From Ctrl-C, which lets ranks save their work, to SIGKILL.
};

// Decides when the ranks of a launch are signalled and what the launch comes to: the first failure wins, then
// the others are ended. A state machine without clock or processes; used by one thread.
class Supervisor {
 public:
  explicit Supervisor(SupervisorOptions options);

  void on_exit(Rank rank, int status, TimePoint now);  // As waitpid(2) gives it.
  void on_job_failure(TimePoint now);                  // The ranks or the coordinator report a failure.
  void on_interrupt(int signal, TimePoint now);        // SIGINT or SIGTERM; the second one is urgent.

  // The signal that is due for all ranks that still run, once each.
  std::optional<int> take_signal(TimePoint now);
  TimePoint next_deadline(TimePoint latest) const;

  bool is_over() const { return running_ == 0; }
  bool has_failed(Rank rank) const;  // By itself, not because it was told to end.
  std::optional<int> status(Rank rank) const { return statuses_[static_cast<std::size_t>(rank)]; }
  std::optional<Rank> first_failure() const { return first_failure_; }
  std::optional<int> interrupt() const { return interrupt_; }

 private:
  void end_soon(Seconds wait, TimePoint now);

  SupervisorOptions options_;
  int running_;
  std::vector<std::optional<int>> statuses_;  // By rank.
  std::optional<Rank> first_failure_;
  std::optional<int> interrupt_;
  std::optional<int> due_;
  bool is_ending_ = false;       // SIGTERM or SIGKILL went out:
  std::vector<bool> was_ended_;  // how ranks end from then on says nothing.
  std::optional<TimePoint> terminate_at_;
  std::optional<TimePoint> kill_at_;
};

}  // namespace hocket
