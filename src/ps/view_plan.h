#pragma once

#include <cstdint>
#include <vector>

#include "ps/message.h"

namespace hocket {

// What the coordinator knows of a server. Neither live nor gone: silent, but perhaps with a lease.
struct ServerFact {
  std::int32_t incarnation = -1;  // Of its newest process.
  bool is_live = false;           // That process.
  bool is_gone = false;           // The process that the view means: it serves nothing any more.
  bool is_leaving = false;
  bool knows_view = false;  // It has said so.
};

struct ClusterFacts {
  std::vector<ServerFact> servers{};
  std::vector<std::int32_t> workers{};  // Incarnations; -1: not live.
  std::vector<bool> has_caught_up{};    // By range: who joins has what its tail has.
  int replicas = 1;
  bool is_over = false;
};

View first_view(const ClusterFacts& facts, int ranges);

// The view that follows from `view`; the same one when nothing has to change. Pure. Servers that are gone
// leave a chain while another replica is left. A chain that is too short, or whose servers are leaving or
// have two ranges more than another, gets one that joins behind its tail; with more than `replicas` that know
// the view it gives one up. A range whose replicas are gone, and have all started anew, is lost: its chain is
// empty from then on.
View next_view(const View& view, const ClusterFacts& facts);

}  // namespace hocket
