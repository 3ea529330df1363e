// Two peers are in one component when each reaches the other: the peers that can be reached from one along
// the edges, and those that can be reached along the edges reversed, have it in common.
#include "sync/components.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "base/error.h"

namespace hocket {
namespace {

// Whom `start` reaches, by peer; against the direction of the edges when `backwards`.
std::vector<bool> reach(const PeerGraph& graph, int start, bool backwards) {
  std::vector<bool> is_reached(static_cast<std::size_t>(graph.size()));
  std::vector<int> open{start};
  is_reached[static_cast<std::size_t>(start)] = true;
  while (!open.empty()) {
    const int peer = open.back();
    open.pop_back();
    for (const int next : backwards ? graph.from(peer) : graph.to(peer)) {
      if (is_reached[static_cast<std::size_t>(next)]) continue;
      is_reached[static_cast<std::size_t>(next)] = true;
      open.push_back(next);
    }
  }
  return is_reached;
}

}  // namespace

std::vector<std::vector<int>> strong_components(const PeerGraph& graph) {
  std::vector<std::vector<int>> components;
  std::vector<bool> is_placed(static_cast<std::size_t>(graph.size()));
  for (int peer = 0; peer < graph.size(); ++peer) {
    if (is_placed[static_cast<std::size_t>(peer)]) continue;
    const std::vector<bool> after = reach(graph, peer, false);
    const std::vector<bool> before = reach(graph, peer, true);
    std::vector<int>& members = components.emplace_back();
    for (std::size_t other = 0; other < is_placed.size(); ++other) {
      if (!after[other] || !before[other]) continue;
      members.push_back(static_cast<int>(other));
      is_placed[other] = true;
    }
  }
  return components;
}

void require_connected(const PeerGraph& graph, std::string_view name) {
  const std::vector<std::vector<int>> components = strong_components(graph);
  if (components.size() == 1) return;
  throw ConfigError(
      "graph {} is not {}connected, so that its workers would never agree; its components are {}; "
      "--allow-disconnected trains on it all the same",
      name, graph.is_directed() ? "strongly " : "", to_string(components));
}

std::string to_string(const std::vector<std::vector<int>>& components) {
  std::string text;
  for (const std::vector<int>& members : components) {
    text += fmt::format("{}{{{}}}", text.empty() ? "" : " ", fmt::join(members, ", "));
  }
  return text;
}

}  // namespace hocket
