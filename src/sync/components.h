#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "sync/peer_graph.h"

namespace hocket {

// The strongly connected components: peers that reach each other along the edges. Each ascending, and they
// are in the order of their least peers. One component: what any peer knows reaches all.
std::vector<std::vector<int>> strong_components(const PeerGraph& graph);

// Throws ConfigError that lists the components where they are several.
void require_connected(const PeerGraph& graph, std::string_view name);

// As in "{0, 1, 2} {3}".
std::string to_string(const std::vector<std::vector<int>>& components);

}  // namespace hocket
