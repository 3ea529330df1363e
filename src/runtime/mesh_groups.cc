#include "runtime/mesh_groups.h"

#include "base/error.h"

namespace hocket {

MeshGroups::MeshGroups(std::unique_ptr<Transport> transport, Mesh mesh, GroupOptions options)
    : mesh_(std::move(mesh)), world_(std::move(transport), std::move(options)) {
  HOCKET_CHECK(world_.size() == mesh_.size(), "a mesh of {} ranks for a job of {}", mesh_.size(),
               world_.size());
  for (const Mesh::Axis& axis : mesh_.axes()) axes_.emplace(axis.name, open_along(axis.name));
}

Group MeshGroups::open_along(std::string_view axis) {
  const std::vector<int> members = mesh_.members(rank(), axis);
  return world_.split(members, next_id(members));
}

std::vector<std::unique_ptr<Transport>> MeshGroups::open_channels(std::string_view axis, int count) {
  const std::vector<int> members = mesh_.members(rank(), axis);
  std::vector<std::unique_ptr<Transport>> channels;
  channels.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) channels.push_back(world_.transport().split(members, next_id(members)));
  return channels;
}

unsigned MeshGroups::next_id(std::span<const int> members) {
  return ++opened_ * static_cast<unsigned>(mesh_.size()) + static_cast<unsigned>(members[0]);
}

Group& MeshGroups::along(std::string_view axis) {
  const auto at = axes_.find(axis);
  HOCKET_CHECK(at != axes_.end(), "the mesh {} has no axis {}", mesh_.text(), axis);
  return at->second;
}

}  // namespace hocket
