#pragma once

#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "collective/group.h"
#include "graph/mesh.h"

namespace hocket {

// The groups of ranks that a step cut along a mesh talks through. Every rank of the job builds it at the same
// time, and calls their operations in the same order. Used by one thread.
class MeshGroups {
 public:
  // `transport` is of all the mesh's ranks.
  MeshGroups(std::unique_ptr<Transport> transport, Mesh mesh, GroupOptions options = {});

  const Mesh& mesh() const { return mesh_; }
  Rank rank() const { return world_.rank(); }
  Group& world() { return world_; }
  Group& along(std::string_view axis);  // The ranks that differ from this one along the axis alone.
  // Another group of the same ranks, for another thread. All of them call it at the same time.
  Group open_along(std::string_view axis);
  // Transports of the same ranks, likewise.
  std::vector<std::unique_ptr<Transport>> open_channels(std::string_view axis, int count);
  AxisShare share(std::string_view axis) const { return mesh_.share(rank(), axis); }

 private:
  unsigned next_id(std::span<const int> members);

  Mesh mesh_;
  Group world_;
  std::map<std::string, Group, std::less<>> axes_;
  unsigned opened_ = 0;  // Times that every rank has opened a group.
};

}  // namespace hocket
