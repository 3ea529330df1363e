#pragma once

#include <sched.h>

#include <algorithm>

#include "net/clock.h"

namespace hocket {

// How a wait passes the time: it spins briefly, then yields, then asks to sleep, ever longer but never more
// than a small part of the time already waited, so that a late answer is not made much later. Where there are
// more ranks than cores it does not spin: the one it waits for may need this very core. Used by one thread,
// for one wait.
class Pause {
 public:
  explicit Pause(bool crowded) : spins_(crowded ? 0 : kSpins) {}

  // Something has come: the wait for the rest begins anew.
  void restart() {
    spins_left_ = spins_;
    yields_ = 0;
    since_ = TimePoint();
    waited_ = Seconds(0);
  }

  // Passes a moment. Returns how long the caller should sleep now; 0 for not at all.
  Seconds once() {
    if (spins_left_ > 0) {
      --spins_left_;
      __builtin_ia32_pause();
      return Seconds(0);
    }
    sched_yield();
    if (yields_++ % kYieldsPerLook != 0) return Seconds(0);
    look();
    if (waited_ < kYieldTime) return Seconds(0);
    return std::min(waited_ / 16, kLongestSleep);
  }

  // For who passes the moment asleep: looks at the clock.
  void look() {
    const TimePoint now = Clock::now();
    if (since_ == TimePoint()) since_ = now;
    waited_ = now - since_;
  }

  // How long the wait has lasted, as of the last look at the clock.
  Seconds waited() const { return waited_; }

 private:
  static constexpr int kSpins = 2000;
  static constexpr int kYieldsPerLook = 8;
  static constexpr Seconds kYieldTime{2e-3};
  static constexpr Seconds kLongestSleep{0.5e-3};

  int spins_;
  int spins_left_ = spins_;
  unsigned yields_ = 0;
  TimePoint since_;
  Seconds waited_{0};
};

}  // namespace hocket
