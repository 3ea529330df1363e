// Everything through one rank, the root: the baseline of every comparison.
//
// broadcast, reduce, gather, scatter: 1 round, P-1 messages at the root. all_reduce: 2 rounds, the root
// receives (P-1)N and sends as much; fan-in P-1; total 2(P-1)N. Sums are in rank order.

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

void add_send_to_all(Round& round, int world, Rank me, Range range) {
  for (Rank to = 0; to < world; ++to) {
    if (to != me) add(round, send(to, range));
  }
}

}  // namespace

Schedule master_broadcast(const Call& call, Rank me) {
  return {1, [me, root = call.root, world = call.world, all = Range{0, call.count}](int, Round& round) {
            if (me == root) {
              add_send_to_all(round, world, me, all);
            } else {
              add(round, recv(root, all));
            }
          }};
}

Schedule master_reduce(const Call& call, Rank me) {
  return {1,
          [me, root = call.root, world = call.world, all = Range{0, call.count}](int, Round& round) {
            if (me == root) {
              add_reduce_in_rank_order(round, world, me, all);
            } else {
              add(round, send(root, all));
            }
          },
          me == call.root ? scratch_for_rank_order(me, call.count) : 0};
}

Schedule master_all_reduce(const Call& call, Rank me) {
  return master_reduce(call, me) + master_broadcast(call, me);
}

Schedule master_gather(const Call& call, Rank me) {
  const Blocks blocks(call.count, call.world, call.blocks);
  return {1, [me, root = call.root, blocks](int, Round& round) {
            if (me != root) {
              add(round, send(root, blocks[me]));
              return;
            }
            for (Rank from = 0; from < blocks.parts(); ++from) {
              if (from != me) add(round, recv(from, blocks[from]));
            }
          }};
}

Schedule master_scatter(const Call& call, Rank me) {
  const Blocks blocks(call.count, call.world, call.blocks);
  return {1, [me, root = call.root, blocks](int, Round& round) {
            if (me != root) {
              add(round, recv(root, blocks[me]));
              return;
            }
            for (Rank to = 0; to < blocks.parts(); ++to) {
              if (to != me) add(round, send(to, blocks[to]));
            }
          }};
}

Schedule master_barrier(const Call& call, Rank me) {
  return {2, [me, root = call.root, world = call.world](int index, Round& round) {
            const auto signal = [&](Rank peer) {
              const bool sends = (index == 0) == (me != root);
              round.push_back(sends ? send(peer, kSignal) : recv(peer, kSignal));
            };
            if (me != root) return signal(root);
            for (Rank peer = 0; peer < world; ++peer) {
              if (peer != me) signal(peer);
            }
          }};
}

}  // namespace hocket
