#pragma once

#include <algorithm>
#include <cstdint>

#include "net/clock.h"

namespace hocket {

// How long the nodes of a parameter server wait for each other. A node is lost when nothing was heard of it
// for a lease and the margin, in which clocks may differ; a head serves only while its lease runs. An
// immutable value.
struct ClusterTiming {
  Seconds beat{0.1};
  Seconds lease{0.5};
  Seconds margin{0.1};
  Seconds patience{0.25};          // Until a request is sent again,
  Seconds forward_patience{0.15};  // a change to the next replica,
  Seconds snapshot_patience{1.0};  // and everything to one that joins.
  Seconds keep{0.1};               // Until a gradient that waits for others is copied.

  Seconds silence() const { return lease + margin; }
};

inline TimePoint later(TimePoint time, Seconds wait) {
  return time + std::chrono::duration_cast<Clock::duration>(wait);
}
inline std::int64_t nanoseconds_of(TimePoint time) {
  return std::chrono::duration_cast<std::chrono::nanoseconds>(time.time_since_epoch()).count();
}
inline TimePoint time_point_of(std::int64_t nanoseconds) {
  return TimePoint(std::chrono::duration_cast<Clock::duration>(std::chrono::nanoseconds(nanoseconds)));
}

// When to send again what was not answered: later each time, since what is big may still be on its way. A
// value type.
class Resending {
 public:
  explicit Resending(Seconds patience) : patience_(patience) {}

  void start(TimePoint now) {
    wait_ = patience_;
    due_ = later(now, wait_);
  }
  bool is_due(TimePoint now) const { return now >= due_; }
  void again(TimePoint now) {
    wait_ = std::min(2 * wait_, 4 * patience_);
    due_ = later(now, wait_);
  }
  TimePoint due() const { return due_; }

 private:
  Seconds patience_;
  Seconds wait_ = patience_;
  TimePoint due_{};
};

}  // namespace hocket
