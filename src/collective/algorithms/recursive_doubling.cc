// Recursive doubling (Thakur, Rabenseifner and Gropp, 2005): in round i ranks 2^i apart exchange whole
// vectors and both add. Short of rounds, long in bytes: for small messages.
//
// P = 2^k: k rounds, every rank sends kN. Otherwise the first 2e ranks, e = P - 2^k, fold: the even one gives
// its vector to the odd one, which takes part for both and gives the result back: k + 2 rounds, (k 2^k + 2e)N
// in all. Fan-in 1. Scratch N: what is received must not overwrite what is being sent, so sums are made in
// `data` and in scratch in turn.

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

// The ranks that take part in the doubling, counted from 0.
struct Folding {
  int extra;  // Pairs of ranks that fold.

  bool sits_out(Rank rank) const { return rank < 2 * extra && rank % 2 == 0; }
  bool folds(Rank rank) const { return rank < 2 * extra; }
  int index(Rank rank) const { return folds(rank) ? rank / 2 : rank - extra; }
  Rank rank(int index) const { return index < extra ? 2 * index + 1 : index + extra; }
};

Buffer sum_before(int step) { return step % 2 == 0 ? Buffer::data : Buffer::scratch; }

void add_fold(Round& round, const Folding& fold, Rank me, Range all) {
  if (!fold.folds(me)) return;
  round.push_back(fold.sits_out(me) ? send(me + 1, all) : recv_reduce(me - 1, all));
}

void add_step(Round& round, const Folding& fold, Rank me, int step, Range all) {
  if (fold.sits_out(me)) return;
  const Rank peer = fold.rank(fold.index(me) ^ (1 << step));
  const Buffer from = sum_before(step);
  const Buffer into = sum_before(step + 1);
  round.push_back(send(peer, all, from));
  round.push_back(recv(peer, all, into));
  round.push_back(reduce(from, 0, all, into));
}

void add_unfold(Round& round, const Folding& fold, Rank me, int steps, Range all) {
  if (fold.sits_out(me)) {
    round.push_back(recv(me + 1, all));
    return;
  }
  const Buffer sum = sum_before(steps);
  if (fold.folds(me)) round.push_back(send(me - 1, all, sum));
  if (sum != Buffer::data) round.push_back(copy(sum, 0, all));
}

}  // namespace

Schedule recursive_doubling_all_reduce(const Call& call, Rank me) {
  const int steps = floor_log2(call.world);
  const Folding fold{call.world - (1 << steps)};
  const int folding = fold.extra > 0 ? 1 : 0;
  const int last = folding > 0 || steps % 2 != 0 ? 1 : 0;  // Unfolding, or a local copy of the result.
  return {folding + steps + last,
          [me, fold, folding, steps, all = Range{0, call.count}](int index, Round& round) {
            if (all.size == 0) return;
            const int step = index - folding;
            if (step < 0) {
              add_fold(round, fold, me, all);
            } else if (step < steps) {
              add_step(round, fold, me, step, all);
            } else {
              add_unfold(round, fold, me, steps, all);
            }
          },
          fold.sits_out(me) ? 0 : call.count};
}

}  // namespace hocket
