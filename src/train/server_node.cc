#include "train/server_node.h"

#include "net/log.h"
#include "ps/node_network.h"
#include "ps/server.h"
#include "ps/server_coordinator.h"
#include "sync/discipline.h"
#include "train/model_ranges.h"

namespace hocket {
namespace {

constexpr Seconds kLook{0.1};  // For `stop`.

// Runs a state machine on its network.
template <typename Machine>
void run_machine(Machine& machine, NodeNetwork& network, const std::atomic<bool>& stop) {
  const auto deliver = [&](const NodeId& from, const Message& message) {
    machine.on_message(from, message, Clock::now());
  };
  while (!stop.load()) {
    network.poll(std::min(machine.next_deadline(), after(kLook)), deliver);
    machine.on_time(Clock::now());
  }
}

}  // namespace

void run_server(const TrainOptions& options, const NodePlace& place, const std::atomic<bool>& stop) {
  NodeNetwork network({place.me, place.key, place.coordinator, place.plaintext, 0}, log_to_stderr());
  ReplicaOptions replicas;
  replicas.workers = options.workers;
  replicas.make_consistency = make_consistency(Discipline::parse(options.sync), options.workers);
  Server server(place.me.index, replicas, network);
  run_machine(server, network, stop);
}

}  // namespace hocket
