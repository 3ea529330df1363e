#include "train/model_ranges.h"

#include <algorithm>

#include "base/error.h"
#include "tensor/arena.h"

namespace hocket {
namespace {

DType dtype_of(const ArenaLayout& layout) {
  return layout.entries().empty() ? DType::f32 : layout.entries().front().type.dtype;
}

// The entries of a layout that are no tables, one after the other, each with what pads it to its boundary.
struct DenseSpace {
  struct Part {
    std::size_t at = 0;
    std::size_t offset = 0;
    std::size_t bytes = 0;
    double decay = 0;
  };
  std::vector<Part> parts;
  std::size_t bytes = 0;
};

DenseSpace dense_space(const ArenaLayout& layout, std::span<const TableUse> tables,
                       const OptimizerSpec& optimizer) {
  DenseSpace space;
  for (const ArenaLayout::Entry& entry : layout.entries()) {
    const auto is_this = [&](const TableUse& table) { return table.parameter == entry.name; };
    if (std::any_of(tables.begin(), tables.end(), is_this)) continue;
    const double decay = entry.type.shape.rank() >= 2 ? optimizer.weight_decay : 0;
    space.parts.push_back({space.bytes, entry.offset, align_up(entry.bytes()), decay});
    space.bytes += align_up(entry.bytes());
  }
  return space;
}

void add_part(ModelRange& range, const DenseSpace::Part& part, std::size_t begin, std::size_t end,
              std::size_t element) {
  const RangePiece piece{range.bytes, part.offset + (begin - part.at), end - begin};
  if (!range.pieces.empty() && range.pieces.back().offset + range.pieces.back().bytes == piece.offset) {
    range.pieces.back().bytes += piece.bytes;
  } else {
    range.pieces.push_back(piece);
  }
  const auto count = static_cast<std::int64_t>(piece.bytes / element);
  if (!range.spec.segments.empty() && range.spec.segments.back().decay == part.decay) {
    range.spec.segments.back().count += count;
  } else {
    range.spec.segments.push_back(
        {static_cast<std::int64_t>(range.bytes / element), count, part.decay, false});
  }
  range.bytes += piece.bytes;
}

// Bytes [first, end) of the space.
ModelRange dense_range(const DenseSpace& space, std::size_t first, std::size_t end, const RangeSpec& spec) {
  ModelRange range;
  range.spec = spec;
  for (const DenseSpace::Part& part : space.parts) {
    const std::size_t begin = std::max(first, part.at);
    const std::size_t stop = std::min(end, part.at + part.bytes);
    if (begin < stop) add_part(range, part, begin, stop, size_of(spec.dtype));
  }
  return range;
}

void add(std::vector<ModelRange>& ranges, ModelRange range, int id) {
  if (range.bytes == 0 && !range.is_table()) return;
  range.id = id;
  ranges.push_back(std::move(range));
}

}  // namespace

std::span<std::byte> ModelRange::in(std::span<std::byte> arena) const {
  if (pieces.size() != 1) return {};
  return arena.subspan(pieces.front().offset, bytes);
}

std::vector<ModelRange> model_ranges(const StepLayouts& layouts, std::span<const TableUse> tables,
                                     const OptimizerSpec& optimizer, int servers) {
  if (tables.size() > kMaxTables)
    throw ConfigError("a model has {} tables; servers take {}", tables.size(), kMaxTables);
  RangeSpec spec;
  spec.optimizer = optimizer;
  spec.dtype = dtype_of(layouts.parameters);
  std::vector<ModelRange> ranges;
  const DenseSpace parameters = dense_space(layouts.parameters, tables, optimizer);
  const auto first_of = [&](int server) {
    const std::size_t lines = parameters.bytes / kAlignment;
    return lines * static_cast<std::size_t>(server) / static_cast<std::size_t>(servers) * kAlignment;
  };
  for (int server = 0; server < servers; ++server) {
    add(ranges, dense_range(parameters, first_of(server), first_of(server + 1), spec), server);
  }
  const DenseSpace statistics = dense_space(layouts.buffers, {}, optimizer);
  spec.dtype = dtype_of(layouts.buffers);
  ModelRange averaged = dense_range(statistics, 0, statistics.bytes, spec);
  averaged.role = Role::buffer;
  for (Segment& segment : averaged.spec.segments) segment.is_sum = true;
  add(ranges, std::move(averaged), servers);
  spec.dtype = dtype_of(layouts.parameters);
  for (std::size_t table = 0; table < tables.size(); ++table) {
    for (int server = 0; server < servers; ++server) {
      ModelRange rows;
      rows.spec = spec;
      rows.spec.width = tables[table].width;
      rows.table = tables[table].parameter;
      rows.server = server;
      add(ranges, std::move(rows), servers + 1 + static_cast<int>(table) * servers + server);
    }
  }
  return ranges;
}

}  // namespace hocket
