#pragma once

#include <optional>
#include <string_view>

#include "graph/graph.h"
#include "graph/mesh.h"

// From one placement of a value to another, along one axis of a mesh.
namespace hocket {

// The operator that does it: empty where no rank needs another's data; nothing where there is no way.
std::optional<std::string_view> collective_between(const Placement& from, const Placement& to);

// Adds the nodes that convert `value`, a rank's part along `axis`, and returns the new part.
Value convert(Value value, const Placement& from, const Placement& to, const Mesh::Axis& axis, int index);

}  // namespace hocket
