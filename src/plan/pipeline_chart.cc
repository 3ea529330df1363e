#include "plan/pipeline_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace hocket {
namespace {

std::string label_of(const PipelineAction& action) {
  if (action.kind == ActionKind::update) return "U";
  const char letter = action.kind == ActionKind::forward ? 'F' : 'B';
  if (action.chunk == 0) return fmt::format("{}{}", letter, action.micro_batch);
  return fmt::format("{}{}.{}", letter, action.micro_batch, action.chunk);
}

Seconds shortest_span(const PipelineReplay& replay) {
  Seconds shortest = replay.time;
  for (const PipelineSpan& span : replay.spans) {
    const Seconds length = span.end - span.begin;
    if (length > Seconds(0) && span.action.kind != ActionKind::update) shortest = std::min(shortest, length);
  }
  return shortest;
}

struct Columns {
  Seconds length{0};
  std::size_t count = 0;

  std::size_t at(Seconds time) const { return static_cast<std::size_t>(std::lround(time / length)); }
};

Columns columns_for(const PipelineReplay& replay, std::size_t cell, int width) {
  if (replay.time == Seconds(0)) return {Seconds(1), 0};
  const double most = std::max(1.0, std::floor(width / static_cast<double>(cell + 1)));
  const Seconds length = std::max(shortest_span(replay), replay.time / most);
  return {length, static_cast<std::size_t>(std::lround(replay.time / length))};
}

}  // namespace

std::string chart_of(const PipelineReplay& replay, int width) {
  std::size_t cell = 1;
  for (const PipelineSpan& span : replay.spans) cell = std::max(cell, label_of(span.action).size());
  const Columns columns = columns_for(replay, cell, width);
  std::vector<std::vector<std::string>> lines(
      static_cast<std::size_t>(replay.shape.stages),
      std::vector<std::string>(columns.count + 1, std::string(cell, '.')));
  for (const PipelineSpan& span : replay.spans) {
    auto& line = lines[static_cast<std::size_t>(span.stage)];
    const std::size_t begin = columns.at(span.begin);
    const std::size_t end = columns.at(span.end);
    if (begin == end) continue;  // Too short to be seen.
    line[begin] = fmt::format("{:<{}}", label_of(span.action), cell);
    std::fill(line.begin() + static_cast<std::ptrdiff_t>(begin) + 1,
              line.begin() + static_cast<std::ptrdiff_t>(end), std::string(cell, '='));
  }
  std::string text;
  for (std::size_t stage = 0; stage < lines.size(); ++stage) {
    lines[stage].resize(columns.count);
    text += fmt::format("stage {:<3} {}\n", stage, fmt::join(lines[stage], " "));
  }
  return text;
}

}  // namespace hocket
