#include "train/node_place.h"

namespace hocket {

NodeNetworkOptions network_at(const NodePlace& place, std::size_t shared_bytes) {
  return {place.me,     place.key,       place.coordinator, place.plaintext,
          shared_bytes, place.emulation, place.workers};
}

// Who asks again only makes slow links slower.
ClusterTiming timing_at(const NodePlace& place) {
  ClusterTiming timing;
  if (place.emulation == nullptr) return timing;
  timing.patience = timing.forward_patience = timing.snapshot_patience = Seconds(2);
  return timing;
}

}  // namespace hocket
