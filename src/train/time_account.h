#pragma once

#include <array>
#include <cstdint>

#include "net/clock.h"
#include "train/team.h"
#include "train/trainer.h"

namespace hocket {

// Where the time of the training thread goes: what it did for how long, in how long a step. Used by one
// thread; observer and team must outlive it.
class TimeAccount {
 public:
  TimeAccount(TrainObserver& observer, Team& team) : observer_(observer), team_(team) {}

  // Runs `body`, adds up its time and tells the observer.
  template <typename Body>
  void timed(Activity activity, const Body& body) {
    const std::int64_t start = now_ns();
    body();
    const std::int64_t end = now_ns();
    add(activity, end - start);
    observer_.on_span(activity, start, end);
  }
  void add(Activity activity, std::int64_t ns) { spent_[static_cast<std::size_t>(activity)] += ns; }

  // Computing, without the time inside collectives, which take place within the phases.
  std::int64_t computed_ns() const;

  void begin_step();
  void end_step();
  double seconds_of_step() const;  // Since it began.
  std::int64_t trained_ns() const { return trained_ns_; }
  double trained() const { return 1e-9 * static_cast<double>(trained_ns_); }  // In seconds.
  void resume_at(std::int64_t trained_ns) { trained_ns_ = trained_ns; }
  double first_step_seconds() const { return first_step_seconds_; }  // From the start to its end.

  RankSeconds seconds() const;
  // Of the time of all ranks since the first step, what they did not compute in; all ranks call it.
  double bubble_fraction();

 private:
  std::int64_t spent(Activity activity) const { return spent_[static_cast<std::size_t>(activity)]; }

  TrainObserver& observer_;
  Team& team_;
  const std::int64_t began_ = now_ns();
  std::array<std::int64_t, 8> spent_{};  // Nanoseconds, by Activity.
  std::int64_t step_began_ = 0, step_computed_ = 0;
  std::int64_t trained_ns_ = 0;
  double first_step_seconds_ = 0;
  std::int64_t busy_ns_ = 0, paced_ns_ = 0;  // Computing, of the time of all steps but the first.
};

}  // namespace hocket
