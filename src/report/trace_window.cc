#include "report/trace_window.h"

#include <algorithm>
#include <limits>

namespace hocket {
namespace {

constexpr double kMicroseconds = 1e6;

// Leaves out lanes without spans.
void drop_empty_lanes(TraceData& trace) {
  constexpr std::size_t kNone = std::numeric_limits<std::size_t>::max();
  std::vector<std::size_t> numbers(trace.lanes.size(), kNone);
  std::vector<TraceLane> kept;
  for (TraceSpan& span : trace.spans) {
    std::size_t& number = numbers[span.lane];
    if (number == kNone) {
      number = kept.size();
      kept.push_back(trace.lanes[span.lane]);
    }
    span.lane = number;
  }
  trace.lanes = std::move(kept);
}

}  // namespace

TraceData trace_window(const TraceData& trace, double seconds, std::size_t most) {
  TraceData window{trace.lanes, trace.names, {}, 0};
  if (trace.spans.empty()) return window;
  std::vector<double> starts;
  for (const TraceSpan& span : trace.spans) starts.push_back(span.start);
  std::nth_element(starts.begin(), starts.begin() + static_cast<std::ptrdiff_t>(starts.size() / 2),
                   starts.end());
  const double begin = starts[starts.size() / 2];
  const double end = begin + seconds * kMicroseconds;
  for (TraceSpan span : trace.spans) {
    const double stop = std::min(span.start + span.duration, end);
    span.start = std::max(span.start, begin);
    span.duration = stop - span.start;
    if (span.duration <= 0) continue;
    span.start -= begin;
    window.spans.push_back(span);
  }
  const auto is_earlier = [](const TraceSpan& a, const TraceSpan& b) { return a.start < b.start; };
  std::stable_sort(window.spans.begin(), window.spans.end(), is_earlier);
  if (window.spans.size() > most) window.spans.resize(most);
  drop_empty_lanes(window);
  return window;
}

}  // namespace hocket
