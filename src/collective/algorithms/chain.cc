// A chain of ranks along the ring: what one has it sends to the next.
//
// naive_ring: the whole vector in one message, so all links but one are idle. broadcast and reduce: P-1
// rounds of N. all_reduce: the sum goes from rank 0 to rank P-1 and from there round again: 2(P-1) rounds,
// 2(P-1)N in all, time proportional to PN. A baseline.
//
// segmented_ring, of broadcast and reduce: k segments follow each other down the chain: P - 2 + k rounds of
// N/k.

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

// A rank's place in a chain of all ranks that starts at some rank and follows the ring.
struct Link {
  int world;
  int position;  // 0: the first.
  Rank prev;
  Rank next;
};

Link link_of(int world, Rank first, Rank me) {
  return {world, wrap(me - first, world), wrap(me - 1, world), wrap(me + 1, world)};
}

// Segment s leaves position p in round p + s.
void add_step(Round& round, const Link& link, int index, Range all, int segments, bool reduces) {
  const int out = index - link.position;
  const int in = out + 1;
  if (link.position + 1 < link.world && out >= 0 && out < segments) {
    add(round, send(link.next, split_evenly(all.size, segments, out)));
  }
  if (link.position > 0 && in >= 0 && in < segments) {
    const Range range = split_evenly(all.size, segments, in);
    add(round, reduces ? recv_reduce(link.prev, range) : recv(link.prev, range));
  }
}

Schedule chain(const Call& call, Rank me, Rank first, int segments, bool reduces) {
  const Link link = link_of(call.world, first, me);
  return {call.world - 2 + segments,
          [link, segments, reduces, all = Range{0, call.count}](int index, Round& round) {
            add_step(round, link, index, all, segments, reduces);
          }};
}

}  // namespace

Schedule naive_ring_broadcast(const Call& call, Rank me) { return chain(call, me, call.root, 1, false); }

Schedule naive_ring_reduce(const Call& call, Rank me) {
  return chain(call, me, wrap(call.root + 1, call.world), 1, true);
}

Schedule naive_ring_all_reduce(const Call& call, Rank me) {
  const Link up = link_of(call.world, 0, me);
  const Link down = link_of(call.world, call.world - 1, me);
  const int half = call.world - 1;
  return {2 * half, [up, down, half, all = Range{0, call.count}](int index, Round& round) {
            if (index < half) {
              add_step(round, up, index, all, 1, true);
            } else {
              add_step(round, down, index - half, all, 1, false);
            }
          }};
}

Schedule segmented_ring_broadcast(const Call& call, Rank me) {
  return chain(call, me, call.root, segments_of(call.count, call.segment), false);
}

Schedule segmented_ring_reduce(const Call& call, Rank me) {
  return chain(call, me, wrap(call.root + 1, call.world), segments_of(call.count, call.segment), true);
}

}  // namespace hocket
