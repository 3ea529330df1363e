#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "net/clock.h"
#include "net/link_tree.h"
#include "net/rank.h"

namespace hocket {

enum class Level : std::uint8_t { device, socket, host, rack };  // Of the tree, the leaves first.
inline constexpr int kLevels = 4;

std::string_view name_of(Level level);

// The edge from a device, socket, host or rack up to what it is in, in both directions at once.
struct Edge {
  Seconds alpha{0};             // Added to every message that passes.
  double beta = 0;              // Seconds a byte; 0: never the slowest edge of a path.
  double oversubscription = 0;  // All edges below together have so many times its rate; 1: it blocks nobody;
                                // 0: not said, so that the ranks below share the rate that beta says.
};

struct TopologyNode {
  Edge edge;
  std::vector<TopologyNode> children =
      {};  // Of a rack its hosts, of a host its sockets, of those their devices.
};

// What a message between two ranks costs on an idle network.
struct Link {
  Seconds alpha;
  double beta;  // Seconds a byte.

  Seconds time(std::size_t bytes) const { return alpha + Seconds(beta * static_cast<double>(bytes)); }
};

// Which rank sits on which device: one after the other, or the racks by turns (as schedulers may deal them).
enum class RankOrder : std::uint8_t { block, cyclic };

// Where the ranks of a job are: a tree of racks, hosts, sockets and devices, one rank a device. Between two
// ranks lies the path through their lowest common ancestor: alphas add up, the slowest edge sets beta. How
// messages share edges is LinkTree's model. Immutable; a value type.
class Topology {
 public:
  explicit Topology(const std::vector<TopologyNode>& racks, RankOrder order = RankOrder::block);

  int world() const { return links_.world(); }
  Link link(Rank a, Rank b) const {
    const LinkTree::Route route = links_.route(a, b);
    return {Seconds(route.alpha), route.beta};
  }
  const LinkTree& links() const { return links_; }

  int count(Level level) const;               // Of the nodes of that level that have ranks.
  int node_of(Level level, Rank rank) const;  // Numbered in the order of the tree.
  const LinkEdge& edge(Level level, int node) const;

  // The outermost level that cuts the ranks into several groups of more than one rank, as hierarchical
  // collectives want them, and the group of each rank. Where there is none everyone is in group 0.
  std::vector<Rank> groups() const;

  // The same with the first `world` ranks only. Throws ConfigError where there are not so many.
  Topology first(int world) const;
  // The same with these ranks only, which count as 0, 1, …
  Topology among(std::span<const Rank> ranks) const;

 private:
  explicit Topology(std::vector<LinkLevel> levels);

  std::vector<LinkLevel> levels_;
  LinkTree links_;
};

// Ranks that are all equally far from each other, each on a host of its own; or so in racks of `rack` of
// them, whose uplinks are oversubscribed.
struct UniformOptions {
  Link link{Seconds(50e-6), 8e-10};  // Between two ranks of one rack.
  int rack = 0;                      // Ranks a rack; 0: one rack.
  double oversubscription = 1;
  Seconds rack_alpha{0};  // What a message to another rack pays on top.
  RankOrder order = RankOrder::block;
};

Topology uniform_topology(int world, const UniformOptions& options = {});

// This machine: its sockets, as the kernel tells, with `world` ranks spread over them evenly. The costs are
// those of shared memory on a common server, to be replaced by measured ones.
Topology detect_topology(int world);

// A topology file, as docs/TOPOLOGY.md describes it. Throws ConfigError: one line with file, line and column.
Topology parse_topology(std::string_view text, const std::string& file);
Topology load_topology(const std::filesystem::path& path);

// What users type: "uniform", "uniform:alpha=20us,bandwidth=10Gbit,...", "this", or a file's name. Of a file
// the first `world` ranks. Throws ConfigError.
Topology open_topology(std::string_view text, int world);

// The tree as text, nodes that are alike on one line.
std::string to_text(const Topology& topology);

}  // namespace hocket
