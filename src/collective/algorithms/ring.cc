// PlaceInRing (Patarasuk and Yuan, 2009; Gibiansky, 2017): the data is cut into one chunk per rank; in each
// round every rank sends a chunk to the next and receives another from the one before.
//
// reduce_scatter: P-1 rounds, the partial sum of chunk r sets out at rank r+1 and ends, complete, at rank r;
// rank r sends N - s(r). all_gather: P-1 rounds, the chunks go round; rank r sends N - s(r+1). all_reduce:
// one after the other, 2(P-1) rounds of N/P; in all 2(P-1)N; fan-in 1. segmented_ring sends a chunk as
// several messages, so that one segment is added while the next is on its way.

#include "collective/algorithms/ring.h"

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

PlaceInRing whole_world(int world, Rank me) { return {world, me, wrap(me - 1, world), wrap(me + 1, world)}; }

// Part `index` of `range` cut into `parts`.
Range segment(Range range, int parts, int index) {
  const Range within = split_evenly(range.size, parts, index);
  return {range.offset + within.offset, within.size};
}

}  // namespace

Schedule ring_reduce_scatter(const PlaceInRing& ring, const Blocks& chunks) {
  return {ring.size - 1, [ring, chunks](int index, Round& round) {
            add(round, send(ring.next, chunks[ring.me - index - 1]));
            add(round, recv_reduce(ring.prev, chunks[ring.me - index - 2]));
          }};
}

Schedule ring_all_gather(const PlaceInRing& ring, const Blocks& chunks) {
  return {ring.size - 1, [ring, chunks](int index, Round& round) {
            add(round, send(ring.next, chunks[ring.me - index]));
            add(round, recv(ring.prev, chunks[ring.me - index - 1]));
          }};
}

Schedule ring_all_reduce(const PlaceInRing& ring, const Blocks& chunks) {
  const int half = ring.size - 1;
  return {2 * half, [ring, chunks, half](int index, Round& round) {
            if (index < half) {
              add(round, send(ring.next, chunks[ring.me - index - 1]));
              add(round, recv_reduce(ring.prev, chunks[ring.me - index - 2]));
            } else {
              add(round, send(ring.next, chunks[ring.me - (index - half)]));
              add(round, recv(ring.prev, chunks[ring.me - (index - half) - 1]));
            }
          }};
}

Schedule ring_reduce_scatter(const Call& call, Rank me) {
  return ring_reduce_scatter(whole_world(call.world, me), Blocks(call.count, call.world, call.blocks));
}

Schedule ring_all_gather(const Call& call, Rank me) {
  return ring_all_gather(whole_world(call.world, me), Blocks(call.count, call.world, call.blocks));
}

Schedule ring_all_reduce(const Call& call, Rank me) {
  return ring_all_reduce(whole_world(call.world, me), Blocks(call.count, call.world));
}

Schedule segmented_ring_all_reduce(const Call& call, Rank me) {
  const PlaceInRing ring = whole_world(call.world, me);
  const Blocks chunks(call.count, call.world);
  const int segments = segments_of(chunks[0].size, call.segment);
  const int half = ring.size - 1;
  return {2 * half, [ring, chunks, segments, half](int index, Round& round) {
            const bool reduces = index < half;
            const int out = reduces ? ring.me - index - 1 : ring.me - (index - half);
            for (int s = 0; s < segments; ++s) {
              add(round, send(ring.next, segment(chunks[out], segments, s)));
            }
            for (int s = 0; s < segments; ++s) {
              const Range range = segment(chunks[out - 1], segments, s);
              add(round, reduces ? recv_reduce(ring.prev, range) : recv(ring.prev, range));
            }
          }};
}

int segments_of(std::size_t count, std::size_t segment) {
  constexpr std::size_t kDefaultSegment =
      16384;  // 64 KiB of f32: long against a latency, short against a cache.
  const std::size_t size = segment > 0 ? segment : kDefaultSegment;
  return count == 0 ? 1 : static_cast<int>((count + size - 1) / size);
}

}  // namespace hocket
