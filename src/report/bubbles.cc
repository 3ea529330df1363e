#include "report/bubbles.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace hocket {
namespace {

constexpr double kShortest = 10;  // Microseconds: less is no bubble but the clock's own time.
constexpr std::string_view kTrainingThread = "training";

struct Interval {
  double begin;
  double end;
};

// What is left of `from` without `taken`; both ascending, those of `from` apart from each other.
std::vector<Interval> without(const std::vector<Interval>& from, const std::vector<Interval>& taken) {
  std::vector<Interval> left;
  auto first = taken.begin();
  for (const Interval& whole : from) {
    double begin = whole.begin;
    while (first != taken.end() && first->end <= begin) ++first;
    for (auto hole = first; hole != taken.end() && hole->begin < whole.end; ++hole) {
      if (hole->begin > begin) left.push_back({begin, hole->begin});
      begin = std::max(begin, hole->end);
    }
    if (begin < whole.end) left.push_back({begin, whole.end});
  }
  return left;
}

// The spans of a lane by kind, ascending.
std::vector<Interval> spans_of(const TraceData& trace, std::size_t lane,
                               std::initializer_list<std::string_view> kinds) {
  std::vector<Interval> found;
  for (const TraceSpan& span : trace.spans) {
    const bool is_wanted = std::find(kinds.begin(), kinds.end(), trace.names[span.name].kind) != kinds.end();
    if (span.lane == lane && is_wanted) found.push_back({span.start, span.start + span.duration});
  }
  std::stable_sort(found.begin(), found.end(),
                   [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  return found;
}

std::vector<Interval> bubbles_of(const TraceData& trace, std::size_t lane) {
  const std::vector<Interval> actions = spans_of(trace, lane, {"compute"});
  if (actions.empty()) return {};
  const std::vector<Interval> computing = without(actions, spans_of(trace, lane, {"wait"}));
  const std::vector<Interval> outside = spans_of(trace, lane, {"eval", "checkpoint"});
  return without(without({{actions.front().begin, actions.back().end}}, computing), outside);
}

void name_stage(TraceLane& lane, int stages, int ranks) {
  constexpr std::string_view kPrefix = "rank ";
  int rank = -1;
  if (lane.process.starts_with(kPrefix))
    std::from_chars(lane.process.data() + kPrefix.size(), lane.process.data() + lane.process.size(), rank);
  if (rank >= 0 && rank < ranks)
    lane.process += fmt::format(", stage {}", rank / std::max(1, ranks / stages));
}

}  // namespace

void mark_bubbles(TraceData& trace, int stages, int ranks) {
  const std::size_t name = trace.names.size();
  std::vector<TraceSpan> bubbles;
  for (std::size_t lane = 0; lane < trace.lanes.size(); ++lane) {
    if (trace.lanes[lane].thread == kTrainingThread) {
      for (const Interval& bubble : bubbles_of(trace, lane)) {
        if (bubble.end - bubble.begin >= kShortest)
          bubbles.push_back({lane, name, bubble.begin, bubble.end - bubble.begin});
      }
    }
    name_stage(trace.lanes[lane], stages, ranks);
  }
  std::erase_if(trace.spans, [&](const TraceSpan& span) {
    return trace.names[span.name].kind == "wait" && trace.lanes[span.lane].thread == kTrainingThread;
  });
  trace.names.push_back({"bubble", "bubble"});
  trace.spans.insert(trace.spans.end(), bubbles.begin(), bubbles.end());
}

}  // namespace hocket
