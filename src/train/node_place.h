#pragma once

#include "net/job.h"
#include "net/socket.h"
#include "ps/node_network.h"
#include "ps/timing.h"

namespace hocket {

// Which node of a parameter-server run a process is, and how it finds the others.
struct NodePlace {
  NodeId me;
  JobKey key = {};
  Endpoint coordinator;
  bool plaintext = false;
  LinkLedger* emulation = nullptr;  // As NodeNetworkOptions has it,
  int workers = 0;                  // and this.
};

NodeNetworkOptions network_at(const NodePlace& place, std::size_t shared_bytes = 0);
ClusterTiming timing_at(const NodePlace& place);

}  // namespace hocket
