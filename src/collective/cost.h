#pragma once

#include <cstddef>
#include <span>

#include "collective/schedule.h"
#include "collective/topology.h"

namespace hocket {

// Predicted time of `schedule` for rank `me`, if nobody keeps it waiting. Links are full duplex, one message
// at a time each way: a round costs the larger of all its sends and all its receives, one after the other.
Seconds price(const Schedule& schedule, Rank me, const Topology& topology, std::size_t element_bytes);

struct TransferSample {
  std::size_t bytes;
  Seconds time;
};

struct LinkFit {
  Link link{Seconds(0), 0};
  double residual = 0;  // Of a typical sample: the median of |predicted - measured| / measured.
};

// Alpha and beta that explain the samples: least squares of the relative error, so that small messages count
// as much as large ones, with less weight for samples far from the rest. Neither is negative. Samples of one
// size alone only tell alpha.
LinkFit fit_link(std::span<const TransferSample> samples);

}  // namespace hocket
