// Binomial trees: ceil(log2 P) rounds; in each, every rank that has something sends it on.
//
// Ranks are counted from the root. The subtree of rank v > 0 is [v, v + lowest bit of v), cut off at P:
// consecutive ranks, so that gather and scatter move consecutive blocks. broadcast and reduce: P-1 messages
// of N. all_reduce: the two together, 2 ceil(log2 P) rounds, 2(P-1)N in all, fan-in 1. gather and scatter:
// (P-1)/P of N through the root's link in ceil(log2 P) messages.
//
// Blocks that are consecutive counted from the root may run past the last rank. Such a subtree's blocks are
// kept in scratch, in the order counted from the root, so that they still are one message.

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

// A rank's place in the tree of `world` ranks with `root` on top.
struct Place {
  int world;
  Rank root;
  int me;  // Counted from the root.

  Rank rank(int v) const { return wrap(v + root, world); }
};

Place place_of(const Call& call, Rank me) {
  return {call.world, call.root, wrap(me - call.root, call.world)};
}

bool sends_up(const Place& place, int mask) { return (place.me & (2 * mask - 1)) == mask; }
bool has_child(const Place& place, int mask) {
  return (place.me & (2 * mask - 1)) == 0 && place.me + mask < place.world;
}

// Towards the root: the edge of length 2^index.
void add_reduce(Round& round, const Place& place, int index, Range all) {
  const int mask = 1 << index;
  if (sends_up(place, mask)) add(round, send(place.rank(place.me - mask), all));
  if (has_child(place, mask)) add(round, recv_reduce(place.rank(place.me + mask), all));
}

void add_broadcast(Round& round, const Place& place, int index, Range all) {
  const int mask = 1 << index;
  if (sends_up(place, mask)) add(round, recv(place.rank(place.me - mask), all));
  if (has_child(place, mask)) add(round, send(place.rank(place.me + mask), all));
}

// The blocks of the subtrees, and where this rank keeps them.
class Subtrees {
 public:
  Subtrees(const Place& place, Blocks blocks) : place_(place), blocks_(std::move(blocks)) {
    const int size = place.me == 0 ? place.world : place.me & -place.me;
    own_wraps_ = place.me != 0 && wraps(place.me, size);
    if (own_wraps_) scratch_size_ = size_of(place.me, size);
    for (int mask = 1; place.me == 0 && mask < place.world; mask *= 2) {
      if (wraps(mask, mask)) scratch_size_ = size_of(mask, mask);
    }
  }

  const Place& place() const { return place_; }
  std::size_t scratch_size() const { return scratch_size_; }
  bool own_wraps() const { return own_wraps_; }
  Range own_block() const { return blocks_[place_.rank(place_.me)]; }

  // Whether the subtree of child v, of `size` ranks unless cut off, runs past the last rank.
  bool wraps(int v, int size) const {
    return v + place_.root < place_.world && end(v, size) + place_.root > place_.world;
  }

  // Where this rank keeps the blocks of the subtree of v, one of its children or itself.
  Range range(int v, int size) const {
    if (own_wraps_)
      return {blocks_.size_around(first(place_.me), first(place_.me) + v - place_.me), size_of(v, size)};
    if (wraps(v, size)) return {0, size_of(v, size)};
    const int from = wrap(first(v), place_.world);
    return blocks_.span(from, from + end(v, size) - v);
  }
  Buffer buffer(int v, int size) const {
    return own_wraps_ || wraps(v, size) ? Buffer::scratch : Buffer::data;
  }

  // The parts of a wrapping subtree before and after the last rank.
  Range before(int v) const { return blocks_.span(first(v), place_.world); }
  Range after(int v, int size) const { return blocks_.span(0, first(end(v, size)) - place_.world); }

 private:
  int first(int v) const { return v + place_.root; }
  int end(int v, int size) const { return std::min(v + size, place_.world); }
  std::size_t size_of(int v, int size) const {
    const int from = wrap(first(v), place_.world);
    return blocks_.size_around(from, from + end(v, size) - v);
  }

  Place place_;
  Blocks blocks_;
  bool own_wraps_ = false;
  std::size_t scratch_size_ = 0;
};

void add_gather(Round& round, const Subtrees& trees, int index) {
  const Place& place = trees.place();
  const int mask = 1 << index;
  if (index == 0 && trees.own_wraps()) {
    add(round, copy(Buffer::data, trees.own_block().offset, {0, trees.own_block().size}, Buffer::scratch));
  }
  if (sends_up(place, mask)) {
    add(round, send(place.rank(place.me - mask), trees.range(place.me, mask), trees.buffer(place.me, mask)));
  }
  if (!has_child(place, mask)) return;
  const int child = place.me + mask;
  add(round, recv(place.rank(child), trees.range(child, mask), trees.buffer(child, mask)));
  if (place.me == 0 && trees.wraps(child, mask)) {
    add(round, copy(Buffer::scratch, 0, trees.before(child)));
    add(round, copy(Buffer::scratch, trees.before(child).size, trees.after(child, mask)));
  }
}

void add_scatter(Round& round, const Subtrees& trees, int index) {
  const Place& place = trees.place();
  const int mask = 1 << index;
  if (sends_up(place, mask)) {
    add(round, recv(place.rank(place.me - mask), trees.range(place.me, mask), trees.buffer(place.me, mask)));
    if (trees.own_wraps()) add(round, copy(Buffer::scratch, 0, trees.own_block()));
  }
  if (!has_child(place, mask)) return;
  const int child = place.me + mask;
  add(round, send(place.rank(child), trees.range(child, mask), trees.buffer(child, mask)));
}

// The root's local round before a scatter: the blocks of the child that wraps, in order.
void add_packing(Round& round, const Subtrees& trees) {
  const Place& place = trees.place();
  for (int mask = 1; place.me == 0 && mask < place.world; mask *= 2) {
    if (!trees.wraps(mask, mask)) continue;
    const Range before = trees.before(mask);
    const Range after = trees.after(mask, mask);
    add(round, copy(Buffer::data, before.offset, {0, before.size}, Buffer::scratch));
    add(round, copy(Buffer::data, after.offset, {before.size, after.size}, Buffer::scratch));
  }
}

void add_signal(Round& round, const Place& place, int index, bool up) {
  const int mask = 1 << index;
  if (sends_up(place, mask)) {
    const Rank parent = place.rank(place.me - mask);
    round.push_back(up ? send(parent, kSignal) : recv(parent, kSignal));
  }
  if (has_child(place, mask)) {
    const Rank child = place.rank(place.me + mask);
    round.push_back(up ? recv(child, kSignal) : send(child, kSignal));
  }
}

}  // namespace

Schedule binomial_broadcast(const Call& call, Rank me) {
  const int rounds = ceil_log2(call.world);
  return {rounds, [place = place_of(call, me), rounds, all = Range{0, call.count}](int index, Round& round) {
            add_broadcast(round, place, rounds - 1 - index, all);
          }};
}

Schedule binomial_reduce(const Call& call, Rank me) {
  return {ceil_log2(call.world), [place = place_of(call, me), all = Range{0, call.count}](
                                     int index, Round& round) { add_reduce(round, place, index, all); }};
}

Schedule binomial_all_reduce(const Call& call, Rank me) {
  const int rounds = ceil_log2(call.world);
  return {2 * rounds,
          [place = place_of(call, me), rounds, all = Range{0, call.count}](int index, Round& round) {
            if (index < rounds) {
              add_reduce(round, place, index, all);
            } else {
              add_broadcast(round, place, 2 * rounds - 1 - index, all);
            }
          }};
}

Schedule binomial_gather(const Call& call, Rank me) {
  const Subtrees trees(place_of(call, me), Blocks(call.count, call.world, call.blocks));
  return {ceil_log2(call.world), [trees](int index, Round& round) { add_gather(round, trees, index); },
          trees.scratch_size()};
}

Schedule binomial_scatter(const Call& call, Rank me) {
  const Subtrees trees(place_of(call, me), Blocks(call.count, call.world, call.blocks));
  const int packing = call.root == 0 ? 0 : 1;  // Local rounds before the first message.
  const int rounds = ceil_log2(call.world);
  return {packing + rounds,
          [trees, packing, rounds](int index, Round& round) {
            if (index < packing) {
              add_packing(round, trees);
            } else {
              add_scatter(round, trees, rounds - 1 - (index - packing));
            }
          },
          trees.scratch_size()};
}

Schedule binomial_barrier(const Call& call, Rank me) {
  const int rounds = ceil_log2(call.world);
  return {2 * rounds, [place = place_of(call, me), rounds](int index, Round& round) {
            const bool up = index < rounds;
            add_signal(round, place, up ? index : 2 * rounds - 1 - index, up);
          }};
}

}  // namespace hocket
