#pragma once

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
  Seconds forward_patience{0.1};   // a change to the next replica,
  Seconds snapshot_patience{1.0};  // and everything to one that joins.

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

}  // namespace hocket
