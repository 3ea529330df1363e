#include "collective/flight_recorder.h"

#include <fmt/format.h>

#include <algorithm>

#include "collective/operation.h"

namespace hocket {

std::string FlightRecorder::text() const {
  const TimePoint now = Clock::now();
  std::string lines;
  for (std::uint64_t i = started_ - std::min<std::uint64_t>(started_, kEntries); i < started_; ++i) {
    const Entry& entry = entries_[i % kEntries];
    const bool finished = entry.finished != TimePoint();
    lines += fmt::format(
        "{:10.6f} s ago: {}, {}\n", Seconds(now - entry.started).count(), text_of(entry.label),
        finished ? fmt::format("took {:.1f} us", Seconds(entry.finished - entry.started).count() * 1e6)
                 : "not finished");
  }
  return lines;
}

}  // namespace hocket
