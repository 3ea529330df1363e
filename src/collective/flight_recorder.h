#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>

#include "net/clock.h"
#include "net/transport.h"

namespace hocket {

// The last 256 operations of a group: what a rank was doing when its job failed. Costs two looks at the clock
// an operation. Used by one thread.
class FlightRecorder {
 public:
  static constexpr std::size_t kEntries = 256;

  void start(const Label& label) { entries_[started_++ % kEntries] = {label, Clock::now(), {}}; }
  void finish() { entries_[(started_ - 1) % kEntries].finished = Clock::now(); }

  // One line an operation, oldest first: when it began (seconds before now), how long it took or that it did
  // not finish.
  std::string text() const;

 private:
  struct Entry {
    Label label;
    TimePoint started;
    TimePoint finished;
  };

  std::array<Entry, kEntries> entries_;
  std::uint64_t started_ = 0;
};

}  // namespace hocket
