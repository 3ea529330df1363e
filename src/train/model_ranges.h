#pragma once

#include <span>
#include <string>
#include <vector>

#include "graph/arena_layout.h"
#include "ps/message.h"
#include "train/batch_rows.h"

namespace hocket {

// Bytes [at, at + bytes) of a range, and where they lie in the arena of its role.
struct RangePiece {
  std::size_t at = 0;
  std::size_t offset = 0;
  std::size_t bytes = 0;
};

// A part of a model that a server holds: a part of its dense parameters, its running statistics, or the rows
// of a table whose ids are that server's.
struct ModelRange {
  RangeId id = 0;
  Role role = Role::parameter;  // Or buffer.
  RangeSpec spec{};
  std::size_t bytes = 0;  // When dense.
  std::vector<RangePiece> pieces{};
  std::string table{};  // The parameter; empty: dense.
  int server = 0;

  bool is_table() const { return !table.empty(); }
  // Where it lies in one piece, that in `arena`; else nothing.
  std::span<std::byte> in(std::span<std::byte> arena) const;
};

// How many ranges a run with so many servers has, whatever its model: one of parameters for each server, one
// of running statistics, and those of tables.
inline constexpr int kMaxTables = 2;
constexpr int range_count(int servers) { return servers * (1 + kMaxTables) + 1; }

// The ranges that a model uses: dense parameters in equal parts, then the running statistics, which the
// servers average, then the tables. They are the same for all layouts of a model but for their pieces.
std::vector<ModelRange> model_ranges(const StepLayouts& layouts, std::span<const TableUse> tables,
                                     const OptimizerSpec& optimizer, int servers);

}  // namespace hocket
