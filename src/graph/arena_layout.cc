#include "graph/arena_layout.h"

#include "base/error.h"
#include "tensor/arena.h"

namespace hocket {

ArenaLayout::ArenaLayout(const Graph& graph, Role role) {
  for (const ValueId id : graph.values_of(role)) {
    const ValueInfo& value = graph.value(id);
    add(value.name, value.type);
  }
}

void ArenaLayout::add(const std::string& name, const Type& type) {
  entries_.push_back({name, type, bytes_});
  bytes_ += align_up(entries_.back().bytes());
}

const ArenaLayout::Entry& ArenaLayout::at(std::string_view name) const {
  for (const Entry& entry : entries_) {
    if (entry.name == name) return entry;
  }
  HOCKET_CHECK(false, "the arena has no tensor {}", name);
}

StepLayouts::StepLayouts(const Graph& graph, std::span<const Gradient> given)
    : parameters(graph, Role::parameter), buffers(graph, Role::buffer), state(graph, Role::state) {
  for (std::size_t i = 0; i < parameters.entries().size(); ++i) {
    const ArenaLayout::Entry& parameter = parameters.entries()[i];
    const bool is_dense = i < given.size() && given[i].value && !given[i].row_ids;
    gradients.add(parameter.name, is_dense ? given[i].value.type() : parameter.type);
  }
}

}  // namespace hocket
