#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// What a span of time was spent on. The order is the order of the legend in reports.
enum class SpanKind : std::uint8_t { compute, data, communication, wait, eval, checkpoint };

std::string_view name_of(SpanKind kind);

// Spans as events of a Chrome trace.
struct TraceEvents {
  std::string json;           // Objects, with a comma after each.
  std::uint64_t dropped = 0;  // Spans that were recorded but are not here.
};

// The events as a whole Chrome trace, which Perfetto opens: a process is a rank.
std::string chrome_trace(const TraceEvents& events);

// What each thread of a rank did when: the newest `capacity` spans. Register names and threads first, from
// one thread; then record() from any thread: it allocates nothing and takes no lock. Read it when no thread
// records.
class Timeline {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Timeline(std::size_t capacity = 1 << 16, Time origin = std::chrono::steady_clock::now());

  std::uint16_t add_name(std::string name, SpanKind kind);
  std::uint16_t add_thread(std::string name);

  // `bytes` is what was moved meanwhile, if anything.
  void record(std::uint16_t name, std::uint16_t thread, Time start, Time end, std::uint64_t bytes = 0) {
    const std::uint64_t at = recorded_.fetch_add(1, std::memory_order_relaxed) % spans_.size();
    spans_[at] = {nanoseconds(start), nanoseconds(end), bytes, name, thread};
  }

  Time origin() const { return origin_; }

  std::uint64_t recorded() const { return recorded_.load(std::memory_order_relaxed); }

  // The newest spans, at most so many, as those of a rank; their times count from `zero`.
  TraceEvents events(int rank, Time zero, std::size_t most) const;

 private:
  struct Span {
    std::int64_t start;  // Nanoseconds since the origin.
    std::int64_t end;
    std::uint64_t bytes;
    std::uint16_t name;
    std::uint16_t thread;
  };
  struct Name {
    std::string text;
    SpanKind kind;
  };

  std::int64_t nanoseconds(Time time) const {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(time - origin_).count();
  }

  Time origin_;
  std::vector<Name> names_;
  std::vector<std::string> threads_;
  std::vector<Span> spans_;
  std::atomic<std::uint64_t> recorded_{0};
};

// Records the time from its construction to its destruction. The timeline may be null.
class ScopedSpan {
 public:
  ScopedSpan(Timeline* timeline, std::uint16_t name, std::uint16_t thread)
      : timeline_(timeline), name_(name), thread_(thread) {
    if (timeline_ != nullptr) start_ = std::chrono::steady_clock::now();
  }
  ~ScopedSpan() {
    if (timeline_ != nullptr) timeline_->record(name_, thread_, start_, std::chrono::steady_clock::now());
  }
  ScopedSpan(const ScopedSpan&) = delete;
  ScopedSpan& operator=(const ScopedSpan&) = delete;

 private:
  Timeline* timeline_;
  std::uint16_t name_;
  std::uint16_t thread_;
  Timeline::Time start_;
};

}  // namespace hocket
