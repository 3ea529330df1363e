// Everyone sends everything that a peer needs straight to it, in one round; fan-in P-1.
//
// all_reduce: every rank sends its whole vector to every other and all make the same sum in rank order:
// P(P-1)N in all, far more than needed; scratch N. all_gather: (P-1)s(r) sent by rank r. all_to_all: one
// message a peer. Peers are taken in the order me+1, me+2, … where the order is free, so that not all turn to
// rank 0 first.

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

// The sum in rank order, made in scratch, since `data` is being sent.
void add_sum_in_scratch(Round& round, int world, Rank me, Range all) {
  for (Rank from = 0; from < world; ++from) {
    if (from == me) {
      round.push_back(from == 0 ? copy(Buffer::data, 0, all, Buffer::scratch)
                                : reduce(Buffer::data, 0, all, Buffer::scratch));
    } else {
      round.push_back(from == 0 ? recv(from, all, Buffer::scratch) : recv_reduce(from, all, Buffer::scratch));
    }
  }
}

}  // namespace

Schedule exchange_all_reduce(const Call& call, Rank me) {
  return {2,
          [me, world = call.world, all = Range{0, call.count}](int index, Round& round) {
            if (all.size == 0) return;
            if (index == 1) {
              round.push_back(copy(Buffer::scratch, 0, all));
              return;
            }
            for (int i = 1; i < world; ++i) round.push_back(send(wrap(me + i, world), all));
            add_sum_in_scratch(round, world, me, all);
          },
          call.count};
}

Schedule exchange_all_gather(const Call& call, Rank me) {
  return {1, [me, blocks = Blocks(call.count, call.world, call.blocks)](int, Round& round) {
            const int world = blocks.parts();
            for (int i = 1; i < world; ++i) add(round, send(wrap(me + i, world), blocks[me]));
            for (int i = 1; i < world; ++i) add(round, recv(wrap(me - i, world), blocks[me - i]));
          }};
}

Schedule exchange_all_to_all(const Call& call, Rank me) {
  const Blocks incoming = data_blocks(call, me);
  const Blocks outgoing = input_blocks(call, me);
  return {1, [me, incoming, outgoing](int, Round& round) {
            const int world = incoming.parts();
            for (int i = 1; i < world; ++i) {
              add(round, send(wrap(me + i, world), outgoing[me + i], Buffer::input));
            }
            add(round, copy(Buffer::input, outgoing[me].offset, incoming[me]));
            for (int i = 1; i < world; ++i) add(round, recv(wrap(me - i, world), incoming[me - i]));
          }};
}

}  // namespace hocket
