// A level of the tree is either counted ("hosts = 8") or listed ("[[rack.host]]"); a count also counts below
// whatever level it stands at, so that "racks = 4, hosts = 8" is a whole file.
#include <toml++/toml.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <optional>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "base/spec.h"
#include "collective/topology.h"

namespace hocket {
namespace {

constexpr std::int64_t kMaxRanks = 100'000;

constexpr std::array<std::string_view, kLevels> kPlurals{"devices", "sockets", "hosts", "racks"};

using Nodes = std::vector<TopologyNode>;

class Reader {
 public:
  Reader(const toml::table& root, const std::string& file) : root_(root), file_(file) {}

  Topology read() {
    if (const toml::node* links = root_.get("link")) read_links(*links);
    const Nodes racks = read_children(root_, kLevels - 1, {"link", "order"});
    return Topology(racks, read_order());
  }

 private:
  [[noreturn]] void fail(const toml::node& node, const std::string& message) const {
    const toml::source_position at = node.source().begin;
    throw ConfigError("{}:{}:{}: {}", file_, at.line, at.column, message);
  }

  const toml::table& table_of(const toml::node& node, std::string_view key) const {
    const toml::table* table = node.as_table();
    if (table == nullptr) fail(node, fmt::format("{}: expected a table", key));
    return *table;
  }

  void read_links(const toml::node& node) {
    const toml::table& links = table_of(node, "link");
    constexpr std::array<std::string_view, kLevels> kNames{"device", "socket", "host", "rack"};
    require_known(links, kNames);
    for (std::size_t level = 0; level < kNames.size(); ++level) {
      const toml::node* link = links.get(kNames[level]);
      if (link == nullptr) continue;
      require_known(table_of(*link, kNames[level]), kEdgeKeys);
      edges_[level] = read_edge(*link->as_table(), {});
    }
  }

  RankOrder read_order() const {
    const toml::node* node = root_.get("order");
    if (node == nullptr) return RankOrder::block;
    const auto text = node->value<std::string_view>();
    if (text == "block") return RankOrder::block;
    if (text == "cyclic") return RankOrder::cyclic;
    fail(*node, "order: expected \"block\" or \"cyclic\"");
  }

  // The nodes of `level` that `parent` says it has. `known` are the keys that mean something else there.
  Nodes read_children(const toml::table& parent, int level, std::vector<std::string_view> known) {
    const int listed = first_listed(parent, level, known);
    require_known(parent, known);
    return counted(parent, level, listed);
  }

  // The level at which `parent` starts to list nodes one by one, or -1; adds to `known` the keys down to
  // there.
  int first_listed(const toml::table& parent, int level, std::vector<std::string_view>& known) const {
    for (int at = level; at >= 0; --at) {
      known.push_back(name_of(static_cast<Level>(at)));
      if (parent.contains(known.back())) return at;
      known.push_back(kPlurals[static_cast<std::size_t>(at)]);
    }
    return -1;
  }

  Nodes counted(const toml::table& parent, int level, int listed) {
    if (level == listed) return read_list(parent, level);
    TopologyNode node{edges_[static_cast<std::size_t>(level)]};
    if (level > 0) node.children = counted(parent, level - 1, listed);
    const toml::node* count = parent.get(kPlurals[static_cast<std::size_t>(level)]);
    Nodes nodes;
    append(nodes, node, count == nullptr ? 1 : read_count(*count), count == nullptr ? parent : *count);
    return nodes;
  }

  Nodes read_list(const toml::table& parent, int level) {
    const std::string_view name = name_of(static_cast<Level>(level));
    const toml::node& node = *parent.get(name);
    const toml::array* list = node.as_array();
    if (list == nullptr || list->empty()) fail(node, fmt::format("{0}: expected [[{0}]]", name));
    Nodes nodes;
    for (const toml::node& entry : *list) {
      const toml::table& table = table_of(entry, name);
      TopologyNode read{read_edge(table, edges_[static_cast<std::size_t>(level)])};
      const std::vector<std::string_view> known{"alpha", "bandwidth", "oversubscription", "count"};
      if (level > 0) {
        read.children = read_children(table, level - 1, known);
      } else {
        require_known(table, known);
      }
      const toml::node* count = table.get("count");
      append(nodes, read, count == nullptr ? 1 : read_count(*count), entry);
    }
    return nodes;
  }

  void append(Nodes& nodes, const TopologyNode& node, std::int64_t count, const toml::node& where) {
    std::int64_t ranks = count * ranks_below(node);
    for (const TopologyNode& other : nodes) ranks += ranks_below(other);
    if (ranks > kMaxRanks) fail(where, fmt::format("more than {} ranks", kMaxRanks));
    nodes.insert(nodes.end(), static_cast<std::size_t>(count), node);
  }

  static std::int64_t ranks_below(const TopologyNode& node) {
    std::int64_t ranks = node.children.empty() ? 1 : 0;
    for (const TopologyNode& child : node.children) ranks += ranks_below(child);
    return ranks;
  }

  std::int64_t read_count(const toml::node& node) const {
    const toml::value<std::int64_t>* count = node.as_integer();
    if (count != nullptr && count->get() >= 1 && count->get() <= kMaxRanks) return count->get();
    fail(node, fmt::format("expected a whole number from 1 to {}", kMaxRanks));
  }

  Edge read_edge(const toml::table& table, Edge edge) const {
    if (const toml::node* node = table.get("alpha")) {
      edge.alpha = Seconds(read_quantity(*node, "alpha", "a time such as \"20us\"", find_seconds));
    }
    if (const toml::node* node = table.get("bandwidth")) {
      const double rate = read_quantity(*node, "bandwidth", "a rate such as \"10Gbit\" or \"1.2GB/s\"",
                                        find_bytes_per_second);
      if (rate < 1) fail(*node, "bandwidth: expected at least one byte a second");
      edge.beta = 1 / rate;
      edge.oversubscription = 0;
    }
    if (const toml::node* node = table.get("oversubscription")) {
      edge.oversubscription = node->value<double>().value_or(0);
      if (!(edge.oversubscription >= 1 && edge.oversubscription <= 1e6)) {
        fail(*node, "oversubscription: expected a number from 1 to 1000000");
      }
    }
    return edge;
  }

  double read_quantity(const toml::node& node, std::string_view key, std::string_view expected,
                       std::optional<double> (*find)(std::string_view)) const {
    const auto text = node.value<std::string_view>();
    const std::optional<double> number = text ? find(*text) : std::nullopt;
    if (!number) fail(node, fmt::format("{}: expected {}", key, expected));
    return *number;
  }

  void require_known(const toml::table& table, std::span<const std::string_view> known) const {
    for (const auto& [key, value] : table) {
      if (std::find(known.begin(), known.end(), key.str()) != known.end()) continue;
      throw ConfigError("{}:{}:{}: unknown key {}{}", file_, key.source().begin.line,
                        key.source().begin.column, key.str(), did_you_mean(key.str(), known));
    }
  }

  static constexpr std::array<std::string_view, 3> kEdgeKeys{"alpha", "bandwidth", "oversubscription"};

  const toml::table& root_;
  const std::string& file_;
  std::array<Edge, kLevels> edges_;  // What a level's edges are where a node does not say otherwise.
};

}  // namespace

Topology parse_topology(std::string_view text, const std::string& file) {
  try {
    const toml::table root = toml::parse(text, file);
    return Reader(root, file).read();
  } catch (const toml::parse_error& error) {
    throw ConfigError("{}:{}:{}: {}", file, error.source().begin.line, error.source().begin.column,
                      error.description());
  }
}

Topology load_topology(const std::filesystem::path& path) {
  std::ifstream stream(path, std::ios::binary);
  std::ostringstream text;
  text << stream.rdbuf();
  if (!stream) throw ConfigError("{}: cannot be read", path.string());
  return parse_topology(text.str(), path.string());
}

}  // namespace hocket
