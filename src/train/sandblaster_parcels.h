#pragma once

#include <vector>

#include "ps/node_network.h"
#include "sync/sandblaster_message.h"

namespace hocket {

// Messages of Sandblaster over the network of a run with servers. Used by one thread.
class SandblasterParcels final : public SandblasterOutbox {
 public:
  struct Received {
    NodeId from;
    SandblasterMessage message;
  };

  explicit SandblasterParcels(NodeNetwork& network) : network_(network) {}

  void send(const NodeId& to, const SandblasterMessage& message) override {
    const std::vector<std::byte> bytes = encode(message);
    network_.send(to, Parcel{{bytes, {}}});
  }

  // Makes sure that the coordinator can reach this node. What is said does not matter.
  void call_coordinator() {
    if (!network_.has_line_to(kCoordinator)) send(kCoordinator, PointInitDone{});
  }

  // Waits for something to come, at most until then; all that is here. A connection with parcels that cannot
  // be read is closed.
  std::vector<Received> receive(TimePoint until) {
    std::vector<Received> received;
    network_.poll(until, [&](const NodeId& from, const Message& message) {
      if (const auto* parcel = std::get_if<Parcel>(&message))
        received.push_back({from, decode_sandblaster(parcel->bytes.bytes)});
    });
    return received;
  }

 private:
  NodeNetwork& network_;
};

// How many elements of a point each server holds, one range after the other.
inline std::vector<std::int64_t> sandblaster_lengths(std::int64_t elements, int servers) {
  std::vector<std::int64_t> lengths;
  lengths.reserve(static_cast<std::size_t>(servers));
  for (int i = 0; i < servers; ++i) {
    lengths.push_back(elements * (i + 1) / servers - elements * i / servers);
  }
  return lengths;
}

}  // namespace hocket
