// Sums in rank order: ((x0 + x1) + x2) + … whatever the rank that adds.
//
// What is received is added to what is there, so the ranks below `me` are summed in scratch, that sum is
// added to the own contribution, and the ranks above follow. x + y = y + x to the bit, so a single rank below
// `me` needs no scratch.

#include "collective/algorithms/algorithms.h"

namespace hocket {

void add_reduce_in_rank_order(Round& round, int world, Rank me, Range range) {
  if (range.size == 0) return;
  const Range partial = {0, range.size};
  if (me == 1) round.push_back(recv_reduce(0, range));
  if (me >= 2) {
    round.push_back(recv(0, partial, Buffer::scratch));
    for (Rank from = 1; from < me; ++from) round.push_back(recv_reduce(from, partial, Buffer::scratch));
    round.push_back(reduce(Buffer::scratch, 0, range));
  }
  for (Rank from = me + 1; from < world; ++from) round.push_back(recv_reduce(from, range));
}

}  // namespace hocket
