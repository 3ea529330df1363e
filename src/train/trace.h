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

// What each thread of a rank did when: the newest `capacity` spans. Register names and threads first, from
// one thread; then record() from any thread: it allocates nothing and takes no lock. Read it when no thread
// records.
class Timeline {
 public:
  using Time = std::chrono::steady_clock::time_point;

  explicit Timeline(std::size_t capacity = 1 << 16, Time origin = std::chrono::steady_clock::now());

  std::uint16_t add_name(std::string name, SpanKind kind);
  std::uint16_t add_thread(std::string name);

  void record(std::uint16_t name, std::uint16_t thread, Time start, Time end) {
    const std::uint64_t at = recorded_.fetch_add(1, std::memory_order_relaxed) % spans_.size();
    spans_[at] = {nanoseconds(start), nanoseconds(end), name, thread};
  }

  std::uint64_t recorded() const { return recorded_.load(std::memory_order_relaxed); }

  // The timeline as a Chrome trace, which Perfetto opens: a process is a rank.
  std::string chrome_trace(int rank = 0) const;

 private:
  struct Span {
    std::int64_t start;  // Nanoseconds since the origin.
    std::int64_t end;
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
