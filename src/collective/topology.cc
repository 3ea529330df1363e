#include "collective/topology.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

constexpr double kUnlimited = std::numeric_limits<double>::infinity();

// What a subtree adds to the rest: the rate of its edge upwards, and its ranks.
struct Below {
  double rate = 0;
  int ranks = 0;
};

// Appends nodes to the levels from `level` down. A node's number is its position in the order of the tree.
class Flattening {
 public:
  Flattening() : levels(kLevels), path_(kLevels) {}

  Below add(const TopologyNode& node, int level) {
    const auto at = static_cast<std::size_t>(level);
    path_[at] = static_cast<int>(levels[at].edges.size());
    levels[at].edges.emplace_back();
    const auto own = static_cast<std::size_t>(path_[at]);
    Below below;
    if (level == 0) {
      below = {node.edge.beta > 0 ? 1 / node.edge.beta : kUnlimited, 1};
      for (std::size_t i = 0; i < levels.size(); ++i) levels[i].node_of.push_back(path_[i]);
    }
    for (const TopologyNode& child : node.children) {
      const Below part = add(child, level - 1);
      below.rate += part.rate;
      below.ranks += part.ranks;
    }
    HOCKET_CHECK(below.ranks > 0, "a {} without ranks", name_of(static_cast<Level>(level)));
    levels[at].edges[own] = resolve(node.edge, below);
    return below;
  }

  std::vector<LinkLevel> levels;

 private:
  // The edge with the rate that its ranks share, which then is what the subtree adds.
  static LinkEdge resolve(const Edge& edge, Below& below) {
    LinkEdge resolved{edge.alpha.count(), edge.beta, 0};
    if (edge.oversubscription > 0) {
      below.rate /= edge.oversubscription;
      if (edge.oversubscription > 1) resolved.shared_beta = 1 / below.rate;
    } else if (edge.beta > 0) {
      if (below.ranks > 1) resolved.shared_beta = edge.beta;
      below.rate = 1 / edge.beta;
    }
    return resolved;
  }

  std::vector<int> path_;  // The node of each level that is being added.
};

// Deals the devices to the ranks: of each rack one by turns.
void deal_by_turns(std::vector<LinkLevel>& levels) {
  std::vector<std::pair<int, int>> turns;  // A device's turn inside its rack, then the device.
  std::map<int, int> next_turn;
  const std::vector<int>& rack_of = levels.back().node_of;
  for (std::size_t i = 0; i < rack_of.size(); ++i)
    turns.emplace_back(next_turn[rack_of[i]]++, static_cast<int>(i));
  std::sort(turns.begin(), turns.end());
  for (LinkLevel& level : levels) {
    std::vector<int> dealt;
    dealt.reserve(turns.size());
    for (const auto& turn : turns) dealt.push_back(level.node_of[static_cast<std::size_t>(turn.second)]);
    level.node_of = std::move(dealt);
  }
}

std::vector<LinkLevel> flatten(const std::vector<TopologyNode>& racks, RankOrder order) {
  Flattening flattening;
  for (const TopologyNode& rack : racks) flattening.add(rack, kLevels - 1);
  if (order == RankOrder::cyclic) deal_by_turns(flattening.levels);
  return std::move(flattening.levels);
}

}  // namespace

std::string_view name_of(Level level) {
  constexpr std::string_view kNames[] = {"device", "socket", "host", "rack"};
  return kNames[static_cast<std::size_t>(level)];
}

Topology::Topology(const std::vector<TopologyNode>& racks, RankOrder order)
    : Topology(flatten(racks, order)) {}

Topology::Topology(std::vector<LinkLevel> levels) : levels_(std::move(levels)), links_(levels_) {}

int Topology::count(Level level) const {
  std::vector<int> nodes = levels_[static_cast<std::size_t>(level)].node_of;
  std::sort(nodes.begin(), nodes.end());
  return static_cast<int>(std::unique(nodes.begin(), nodes.end()) - nodes.begin());
}

int Topology::node_of(Level level, Rank rank) const {
  return levels_[static_cast<std::size_t>(level)].node_of[static_cast<std::size_t>(rank)];
}

const LinkEdge& Topology::edge(Level level, int node) const {
  return levels_[static_cast<std::size_t>(level)].edges[static_cast<std::size_t>(node)];
}

std::vector<Rank> Topology::groups() const {
  for (const Level level : {Level::rack, Level::host, Level::socket}) {
    const int groups = count(level);
    if (groups > 1 && groups < world()) return levels_[static_cast<std::size_t>(level)].node_of;
  }
  return std::vector<Rank>(static_cast<std::size_t>(world()), 0);
}

Topology Topology::first(int world) const {
  if (world > this->world()) {
    throw ConfigError("topology: it has place for {} ranks, not for {}", this->world(), world);
  }
  std::vector<LinkLevel> levels = levels_;
  for (LinkLevel& level : levels) level.node_of.resize(static_cast<std::size_t>(world));
  return Topology(std::move(levels));
}

Topology Topology::among(std::span<const Rank> ranks) const {
  std::vector<LinkLevel> levels = levels_;
  for (LinkLevel& level : levels) {
    std::vector<int> chosen;
    for (const Rank rank : ranks) chosen.push_back(level.node_of[static_cast<std::size_t>(rank)]);
    level.node_of = std::move(chosen);
  }
  return Topology(std::move(levels));
}

Topology uniform_topology(int world, const UniformOptions& options) {
  const Edge device{};
  const Edge host{options.link.alpha / 2, options.link.beta, 0};  // Of the two ends of a path.
  const Edge uplink{options.rack_alpha / 2, 0, options.oversubscription};
  const TopologyNode one_host{host, {TopologyNode{Edge{}, {TopologyNode{device}}}}};
  const int per_rack = options.rack > 0 ? options.rack : std::max(world, 1);
  const int racks = (world + per_rack - 1) / per_rack;
  const TopologyNode rack{uplink, {static_cast<std::size_t>(per_rack), one_host}};
  return Topology({static_cast<std::size_t>(racks), rack}, options.order).first(world);
}

}  // namespace hocket
