// All-gather on a hypercube, P = 2^k: in round i a rank exchanges all the blocks it has with the rank that
// differs in bit i. k rounds; rank r sends (P-1)/P of N (equal blocks), the lower bound; fan-in 1.
//
// After i rounds a rank has the blocks of the 2^i ranks that share its higher bits: consecutive ones, which
// stand at their places in `data`.

#include "collective/algorithms/algorithms.h"

namespace hocket {

Schedule hypercube_all_gather(const Call& call, Rank me) {
  const Blocks blocks(call.count, call.world, call.blocks);
  return {floor_log2(call.world), [me, blocks](int index, Round& round) {
            const int size = 1 << index;
            const int mine = me & ~(size - 1);
            const int theirs = mine ^ size;
            add(round, send(me ^ size, blocks.span(mine, mine + size)));
            add(round, recv(me ^ size, blocks.span(theirs, theirs + size)));
          }};
}

}  // namespace hocket
