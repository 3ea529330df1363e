#pragma once

#include "net/job.h"
#include "net/socket.h"
#include "ps/node_id.h"

namespace hocket {

// Which node of a parameter-server run a process is, and how it finds the others.
struct NodePlace {
  NodeId me;
  JobKey key = {};
  Endpoint coordinator;
  bool plaintext = false;
};

}  // namespace hocket
