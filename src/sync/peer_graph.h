#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace hocket {

// Who sends parameters to whom among workers that have no server: a directed graph without loops. An edge
// without direction is two. A value type; immutable once built.
class PeerGraph {
 public:
  explicit PeerGraph(int size) : to_(static_cast<std::size_t>(size)), from_(static_cast<std::size_t>(size)) {}

  int size() const { return static_cast<int>(to_.size()); }
  const std::vector<int>& to(int peer) const { return to_[static_cast<std::size_t>(peer)]; }  // Ascending.
  const std::vector<int>& from(int peer) const { return from_[static_cast<std::size_t>(peer)]; }
  bool has_edge(int a, int b) const;
  bool is_directed() const;    // Some edge goes one way only.
  int largest_degree() const;  // Of the peer that sends to the most others.

  bool try_connect(int a, int b);  // Whether the edge from a to b is new.

 private:
  std::vector<std::vector<int>> to_, from_;
};

// "ring", "torus" (as square as the number allows), "complete", "exponential" (each peer sends to those 1, 2,
// 4, … further on) or "file:F". Throws ConfigError that names the nearest word known, and DataError.
PeerGraph make_peer_graph(std::string_view name, int size);

// Throws ConfigError where make_peer_graph() would for any size.
void require_peer_graph_name(std::string_view name);

// Reads edges, one a line: "0 1" goes both ways, "0 -> 1" one way, "#" starts a comment. `file` names them
// in the DataError of a line that is not one.
PeerGraph parse_peer_graph(std::string_view text, int size, const std::string& file);

}  // namespace hocket
