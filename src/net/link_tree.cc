#include "net/link_tree.h"

#include <utility>

#include "base/error.h"

namespace hocket {

LinkTree::LinkTree(const std::vector<LinkLevel>& levels) : levels_(static_cast<int>(levels.size())) {
  HOCKET_CHECK(levels_ >= 1 && levels_ <= kMaxLevels, "a tree of {} levels", levels_);
  places_.resize(levels[0].node_of.size());
  for (std::size_t level = 0; level < levels.size(); ++level) {
    const std::vector<LinkEdge>& edges = levels[level].edges;
    std::vector<int> shared(edges.size(), -1);
    for (std::size_t node = 0; level > 0 && node < edges.size(); ++node) {
      if (edges[node].shared_beta <= 0) continue;
      shared[node] = static_cast<int>(shared_.size());
      for (const bool is_up : {true, false}) {
        shared_.push_back({static_cast<int>(level), static_cast<int>(node), is_up, edges[node].shared_beta});
      }
    }
    for (std::size_t rank = 0; rank < places_.size(); ++rank) {
      Place& place = places_[rank];
      const auto node = static_cast<std::size_t>(levels[level].node_of[rank]);
      const double beta = std::max(edges[node].beta, edges[node].shared_beta);
      place.node[level] = static_cast<int>(node);
      place.shared[level] = shared[node];
      place.alpha[level] = edges[node].alpha + (level > 0 ? place.alpha[level - 1] : 0);
      place.beta[level] = std::max(beta, level > 0 ? place.beta[level - 1] : 0);
    }
  }
}

LinkTree LinkTree::of_racks(std::vector<LinkEdge> ranks, std::vector<int> rack_of,
                            std::vector<LinkEdge> uplinks) {
  std::vector<LinkLevel> levels(1);
  for (std::size_t rank = 0; rank < ranks.size(); ++rank) levels[0].node_of.push_back(static_cast<int>(rank));
  levels[0].edges = std::move(ranks);
  if (!uplinks.empty()) levels.push_back({std::move(rack_of), std::move(uplinks)});
  return LinkTree(levels);
}

LinkTree::Queue LinkTree::queue(int index) const {
  if (index < world()) return {0, index, true, places_[static_cast<std::size_t>(index)].beta[0]};
  if (index < 2 * world()) {
    return {0, index - world(), false, places_[static_cast<std::size_t>(index - world())].beta[0]};
  }
  return shared_[static_cast<std::size_t>(index - 2 * world())];
}

}  // namespace hocket
