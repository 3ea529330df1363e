#pragma once

#include <array>
#include <cstdint>

#include "runtime/communicator.h"
#include "train/trace.h"
#include "train/trainer.h"

namespace hocket {

// Writes down when a rank did what: its training thread, and its collectives, which may run in a thread of
// their own. Recording allocates nothing. Used by the training thread; the communicator, which may be null,
// must outlive it.
class SpanRecorder {
 public:
  explicit SpanRecorder(Communicator* communicator);
  ~SpanRecorder();
  SpanRecorder(const SpanRecorder&) = delete;
  SpanRecorder& operator=(const SpanRecorder&) = delete;

  // Nanoseconds of the steady clock.
  void record(Activity activity, std::int64_t start, std::int64_t end);

  const Timeline& timeline() const { return timeline_; }  // Complete when nothing is under way.

 private:
  void follow(Communicator& communicator);

  Communicator* communicator_;
  Timeline timeline_;
  std::array<std::uint16_t, 8> activities_{};   // Names, by Activity.
  std::array<std::uint16_t, 9> collectives_{};  // Names, by Collective.
  std::uint16_t waiting_ = 0;
  std::uint16_t training_thread_ = 0;
  std::uint16_t communication_ = 0;
};

}  // namespace hocket
