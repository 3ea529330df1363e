#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "net/transport.h"
#include "sync/mixing.h"
#include "tensor/dtype.h"

namespace hocket {

// One round of gossip as one peer takes part in it: sends its values to its out-neighbours and adds up what
// its in-neighbours send, as Mixing weighs it. The order of the sum is that of the ranks, so that a run
// repeats to the bit. It sends degree · bytes and waits for nobody but neighbours; nothing is allocated after
// the first round. All ranks of the transport are peers of the graph. Used by one thread. Throws NetError.
class NeighbourMix {
 public:
  // Takes over what the transport says of its labels. It must outlive this. `rounds`: that were before.
  NeighbourMix(Transport& transport, const PeerGraph& graph, std::int64_t rounds = 0);

  // `own`, f32 or f64, is left as it is; the mixture goes to `mixed`, of the same size.
  void run(DType dtype, std::span<const std::byte> own, std::span<std::byte> mixed);

  const Mixing& mixing() const { return mixing_; }
  std::int64_t rounds() const { return rounds_; }  // With those before.

 private:
  Transport& transport_;
  Mixing mixing_;
  std::vector<int> targets_;
  std::vector<Pending> sends_;
  std::int64_t rounds_;
};

}  // namespace hocket
