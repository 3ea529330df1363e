#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "graph/graph.h"
#include "graph/operator.h"

namespace hocket {

// Where the named tensors of one arena lie: parameters, gradients, buffers, or optimizer state. Offsets are
// 64-byte aligned, in order of creation. Immutable once built; a value type.
class ArenaLayout {
 public:
  struct Entry {
    std::string name;
    Type type;
    std::size_t offset = 0;

    std::size_t bytes() const { return bytes_of(type); }
  };

  ArenaLayout() = default;
  ArenaLayout(const Graph& graph, Role role);  // The graph's sources of that role.

  void add(const std::string& name, const Type& type);

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
  ArenaLayout gradients;  // By the names of their parameters.
  ArenaLayout buffers;
  ArenaLayout state;

  // `gradients` are of the parameters in their order; without them they lie as the parameters do.
  explicit StepLayouts(const Graph& graph, std::span<const Gradient> gradients = {});
};

}  // namespace hocket
