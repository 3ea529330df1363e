#pragma once

#include <vector>

#include "graph/arena_layout.h"
#include "ps/message.h"

namespace hocket {

// A part of a model that servers hold, and where it lies in the arena of its role.
struct ModelRange {
  Role role = Role::parameter;  // Or buffer.
  std::size_t offset = 0;       // Bytes.
  std::size_t bytes = 0;
  RangeSpec spec{};
};

// How many ranges a run with so many servers has, whatever its model: one of parameters for each server, one
// of running statistics, and those of tables.
inline constexpr int kMaxTables = 2;
constexpr int range_count(int servers) { return servers * (1 + kMaxTables) + 1; }

// The dense ranges: parameters in equal parts, then the running statistics, which the servers average. Throws
// ConfigError for a model whose gradients are not all dense.
std::vector<ModelRange> model_ranges(const StepLayouts& layouts, const OptimizerSpec& optimizer, int servers);

}  // namespace hocket
