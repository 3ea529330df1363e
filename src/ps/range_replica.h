#pragma once

#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "net/clock.h"
#include "nn/schedule.h"
#include "ps/consistency.h"
#include "ps/message.h"
#include "ps/store.h"

namespace hocket {

struct ReplicaOptions {
  int workers = 1;
  MakeConsistency make_consistency;
  // The optimizer's numbers for update `version` (from 0) after `batches` batches.
  std::function<Hyper(std::int64_t version, double batches)> hyper;
  std::function<std::unique_ptr<Store>(const Init&)> make_store;
};

// One replica of one range, as a state machine: used by one thread, never blocks, time is passed in. The head
// of the chain takes changes, gives them numbers and passes them on; the tail's word travels back, and then
// the head makes them, acknowledges them and lets go the pulls that waited for them. So nothing that was read
// or acknowledged is ever lost with a server. A head without a lease makes and acknowledges nothing. Messages
// with an old epoch change nothing.
class RangeReplica {
 public:
  RangeReplica(RangeId range, int server, const ReplicaOptions& options, Outbox& out);

  void on_view(const View& view, TimePoint now);
  void on_lease(TimePoint until);
  void on_message(const NodeId& from, const Message& message, TimePoint now);
  void on_time(TimePoint now);  // Sends again what was not answered.
  bool has_caught_up() const;
};

}  // namespace hocket
