#include "graph/arena_layout.h"

#include "base/error.h"
#include "tensor/arena.h"

namespace hocket {

ArenaLayout::ArenaLayout(const Graph& graph, Role role) {
  for (const ValueId id : graph.values_of(role)) {
    const ValueInfo& value = graph.value(id);
    entries_.push_back({value.name, value.type, bytes_});
    bytes_ += align_up(entries_.back().bytes());
  }
}

const ArenaLayout::Entry& ArenaLayout::at(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry;
  }
  HOCKET_CHECK(false, "the arena has no tensor {}", name);
}

}  // namespace hocket
