#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"

namespace hocket {

// Where the named tensors of one arena lie: parameters (and, alike, their gradients), buffers, or optimizer
// state. Offsets are 64-byte aligned, in order of creation. Immutable once built; a value type.
class ArenaLayout {
 public:
  struct Entry {
    std::string name;
    Type type;
    std::size_t offset = 0;

    std::size_t bytes() const { return static_cast<std::size_t>(type.shape.count()) * size_of(type.dtype); }
  };

  ArenaLayout() = default;
  ArenaLayout(const Graph& graph, Role role);  // The graph's sources of that role.

  const std::vector<Entry>& entries() const { return entries_; }
  std::size_t bytes() const { return bytes_; }
  const Entry& at(
      std::string_view name) const;  // Aborts when there is none: graphs of one model share their layout.

 private:
  std::vector<Entry> entries_;
  std::size_t bytes_ = 0;
};

// The layouts of everything that outlives a step.
struct StepLayouts {
  ArenaLayout parameters;
  ArenaLayout buffers;
  ArenaLayout state;

  explicit StepLayouts(const Graph& graph)
      : parameters(graph, Role::parameter), buffers(graph, Role::buffer), state(graph, Role::state) {}
};

}  // namespace hocket
