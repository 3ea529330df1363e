#include "train/model_ranges.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/arena.h"

namespace hocket {
namespace {

DType dtype_of(const ArenaLayout& layout) {
  return layout.entries().empty() ? DType::f32 : layout.entries().front().type.dtype;
}

// Elements [first, end) of the arena, by entry. What pads an entry to its boundary belongs to it.
std::vector<Segment> segments_of(const ArenaLayout& layout, std::int64_t first, std::int64_t end,
                                 const OptimizerSpec& optimizer) {
  std::vector<Segment> segments;
  const auto element = static_cast<std::int64_t>(size_of(dtype_of(layout)));
  const auto& entries = layout.entries();
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const std::size_t next = i + 1 < entries.size() ? entries[i + 1].offset : layout.bytes();
    const std::int64_t begin = std::max(first, static_cast<std::int64_t>(entries[i].offset) / element);
    const std::int64_t stop = std::min(end, static_cast<std::int64_t>(next) / element);
    if (begin >= stop) continue;
    const double decay = entries[i].type.shape.rank() >= 2 ? optimizer.weight_decay : 0;
    if (!segments.empty() && segments.back().decay == decay) {
      segments.back().count += stop - begin;
    } else {
      segments.push_back({begin - first, stop - begin, decay, false});
    }
  }
  return segments;
}

ModelRange range_of(const ArenaLayout& layout, Role role, std::int64_t first, std::int64_t end,
                    const OptimizerSpec& optimizer) {
  ModelRange range;
  range.role = role;
  range.spec.dtype = dtype_of(layout);
  range.spec.optimizer = optimizer;
  const std::size_t element = size_of(range.spec.dtype);
  range.offset = static_cast<std::size_t>(first) * element;
  range.bytes = static_cast<std::size_t>(end - first) * element;
  range.spec.segments = segments_of(layout, first, end, optimizer);
  return range;
}

}  // namespace

std::vector<ModelRange> model_ranges(const StepLayouts& layouts, const OptimizerSpec& optimizer,
                                     int servers) {
  const ArenaLayout& parameters = layouts.parameters;
  if (layouts.gradients.bytes() != parameters.bytes()) {
    throw ConfigError("the model has gradients by rows, which servers do not take as dense ones");
  }
  std::vector<ModelRange> ranges;
  const std::size_t element = size_of(dtype_of(parameters));
  const std::size_t lines = parameters.bytes() / kAlignment;
  const auto first_of = [&](int server) {
    const std::size_t line = lines * static_cast<std::size_t>(server) / static_cast<std::size_t>(servers);
    return static_cast<std::int64_t>(line * kAlignment / element);
  };
  for (int server = 0; server < servers; ++server) {
    ranges.push_back(
        range_of(parameters, Role::parameter, first_of(server), first_of(server + 1), optimizer));
  }
  const auto statistics =
      static_cast<std::int64_t>(layouts.buffers.bytes() / size_of(dtype_of(layouts.buffers)));
  ranges.push_back(range_of(layouts.buffers, Role::buffer, 0, statistics, optimizer));
  for (Segment& segment : ranges.back().spec.segments) segment.is_sum = true;
  return ranges;
}

}  // namespace hocket
