// Parameter-server style: rank r owns block r; all send it their contribution, it adds them up in rank order.
//
// reduce_scatter: 1 round, rank r sends N - s(r), fan-in P-1. all_reduce: then everyone fetches the sums: 2
// rounds, rank r sends N - s(r) + (P-1)s(r), in all 2(P-1)N. reduce: only the root fetches them. Scratch
// s(r).

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

void add_reduce_scatter(Round& round, Rank me, const Blocks& blocks) {
  const int world = blocks.parts();
  for (int i = 1; i < world; ++i) add(round, send(wrap(me + i, world), blocks[me + i]));
  add_reduce_in_rank_order(round, world, me, blocks[me]);
}

}  // namespace

Schedule sharded_reduce_scatter(const Call& call, Rank me) {
  const Blocks blocks(call.count, call.world, call.blocks);
  return {1, [me, blocks](int, Round& round) { add_reduce_scatter(round, me, blocks); },
          scratch_for_rank_order(me, blocks[me].size)};
}

Schedule sharded_all_reduce(const Call& call, Rank me) {
  const Blocks blocks(call.count, call.world);
  return {2,
          [me, blocks](int index, Round& round) {
            if (index == 0) return add_reduce_scatter(round, me, blocks);
            const int world = blocks.parts();
            for (int i = 1; i < world; ++i) add(round, send(wrap(me + i, world), blocks[me]));
            for (int i = 1; i < world; ++i) add(round, recv(wrap(me - i, world), blocks[me - i]));
          },
          scratch_for_rank_order(me, blocks[me].size)};
}

Schedule sharded_reduce(const Call& call, Rank me) {
  const Blocks blocks(call.count, call.world);
  return {2,
          [me, root = call.root, blocks](int index, Round& round) {
            if (index == 0) return add_reduce_scatter(round, me, blocks);
            if (me != root) return add(round, send(root, blocks[me]));
            for (Rank from = 0; from < blocks.parts(); ++from) {
              if (from != me) add(round, recv(from, blocks[from]));
            }
          },
          scratch_for_rank_order(me, blocks[me].size)};
}

}  // namespace hocket
