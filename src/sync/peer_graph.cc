#include "sync/peer_graph.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>

#include "base/error.h"
#include "base/nearest.h"

namespace hocket {
namespace {

constexpr std::string_view kFile = "file:";

void connect_both(PeerGraph& graph, int a, int b) {
  if (a == b) return;
  graph.try_connect(a, b);
  graph.try_connect(b, a);
}

PeerGraph ring(int size) {
  PeerGraph graph(size);
  for (int peer = 0; peer < size; ++peer) connect_both(graph, peer, (peer + 1) % size);
  return graph;
}

int rows_of_torus(int size) {
  int rows = 1;
  for (int divisor = 2; divisor * divisor <= size; ++divisor) {
    if (size % divisor == 0) rows = divisor;
  }
  return rows;
}

PeerGraph torus(int size) {
  const int rows = rows_of_torus(size);
  const int columns = size / rows;
  PeerGraph graph(size);
  for (int peer = 0; peer < size; ++peer) {
    const int row = peer / columns;
    const int column = peer % columns;
    connect_both(graph, peer, row * columns + (column + 1) % columns);
    connect_both(graph, peer, (row + 1) % rows * columns + column);
  }
  return graph;
}

PeerGraph complete(int size) {
  PeerGraph graph(size);
  for (int a = 0; a < size; ++a) {
    for (int b = 0; b < a; ++b) connect_both(graph, a, b);
  }
  return graph;
}

PeerGraph exponential(int size) {
  PeerGraph graph(size);
  for (int peer = 0; peer < size; ++peer) {
    for (int hop = 1; hop < size; hop *= 2) graph.try_connect(peer, (peer + hop) % size);
  }
  return graph;
}

struct BuiltIn {
  std::string_view name;
  PeerGraph (*make)(int size);
};
constexpr std::array<BuiltIn, 4> kBuiltIns{
    {{"ring", ring}, {"torus", torus}, {"complete", complete}, {"exponential", exponential}}};

std::string read_file(const std::string& path) {
  std::ifstream file(path);
  std::ostringstream text;
  if (!file || !(text << file.rdbuf())) throw DataError("{}: the graph's file cannot be read", path);
  return text.str();
}

bool is_from_file(std::string_view name) { return name.starts_with(kFile) && name.size() > kFile.size(); }

bool insert_sorted(std::vector<int>& list, int value) {
  const auto at = std::lower_bound(list.begin(), list.end(), value);
  if (at != list.end() && *at == value) return false;
  list.insert(at, value);
  return true;
}

}  // namespace

bool PeerGraph::has_edge(int a, int b) const { return std::binary_search(to(a).begin(), to(a).end(), b); }

bool PeerGraph::is_directed() const { return to_ != from_; }

int PeerGraph::largest_degree() const {
  std::size_t largest = 0;
  for (const std::vector<int>& peers : to_) largest = std::max(largest, peers.size());
  return static_cast<int>(largest);
}

bool PeerGraph::try_connect(int a, int b) {
  HOCKET_CHECK(a != b && a >= 0 && b >= 0 && a < size() && b < size(), "no edge {} to {}", a, b);
  insert_sorted(from_[static_cast<std::size_t>(b)], a);
  return insert_sorted(to_[static_cast<std::size_t>(a)], b);
}

void require_peer_graph_name(std::string_view name) {
  if (is_from_file(name)) return;
  std::vector<std::string_view> names{kFile};
  for (const BuiltIn& entry : kBuiltIns) {
    if (entry.name == name) return;
    names.push_back(entry.name);
  }
  throw ConfigError("graph {} is not ring, torus, complete, exponential or file:F{}", name,
                    did_you_mean(name, names));
}

PeerGraph make_peer_graph(std::string_view name, int size) {
  require_peer_graph_name(name);
  for (const BuiltIn& entry : kBuiltIns) {
    if (entry.name == name) return entry.make(size);
  }
  const std::string path(name.substr(kFile.size()));
  return parse_peer_graph(read_file(path), size, path);
}

}  // namespace hocket
