#pragma once

#include <optional>

#include "net/clock.h"

namespace hocket {

struct HeartbeatTiming {
  Seconds beat{0.5};     // How often each end says that it is alive.
  Seconds silence{2.5};  // After which an end that says nothing counts as dead,
  Seconds patience{
      15};  // or after this one whose process is seen to run: a busy machine may keep it waiting.
};

// Says when to beat and when the other end has been silent for too long. Whoever did not look for a while,
// because the machine was busy or the process stopped, does not hold its own sleep against the other end.
// A value type; time is passed in.
class Liveness {
 public:
  Liveness(HeartbeatTiming timing, TimePoint now) : timing_(timing), heard_(now), looked_(now), beat_(now) {}

  void heard(TimePoint now) { heard_ = now; }

  bool is_silent(TimePoint now) {
    if (now - looked_ > 2 * timing_.beat) heard_ = now;
    looked_ = now;
    return now - heard_ >= timing_.silence;
  }

  // For how long it has been silent, if that is too long. `is_running` says whether its process is seen to
  // run.
  template <typename IsRunning>
  std::optional<Seconds> is_silent(TimePoint now, IsRunning is_running) {
    if (!is_silent(now) || (now - heard_ < timing_.patience && is_running())) return std::nullopt;
    return now - heard_;
  }

  bool is_time_to_beat(TimePoint now) {
    if (now - beat_ < timing_.beat) return false;
    beat_ = now;
    return true;
  }

 private:
  HeartbeatTiming timing_;
  TimePoint heard_;
  TimePoint looked_;
  TimePoint beat_;
};

}  // namespace hocket
