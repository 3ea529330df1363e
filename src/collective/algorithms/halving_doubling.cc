// Recursive halving, then doubling, with binary blocks where P is not a power of two (Rabenseifner, 2004).
//
// P = 2^k: in round i a rank gives half of what it holds to the rank 2^(k-1-i) away and adds the other half;
// after k rounds rank r has chunk r of the sum; the doubling runs the same way back. 2k rounds, 2N(P-1)/P
// sent by a rank, largest message N/2, fan-in 1.
//
// Otherwise the ranks are cut into blocks of decreasing powers of two, P = b1 + b2 + …, largest first, and
// every block halves by itself. Then the sums of a smaller block go to the next larger: each rank sends its
// part, cut once more, to b(i)/b(i+1) ranks. 2 ceil(log2 P) rounds, fan-in the largest b(i)/b(i+1). All
// cuts are unions of the b1 chunks. Each block sends (b-1)N inside and all but the largest N to the next:
// 2(P-1)N in all.

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

// The block of a rank, its neighbours in size (0: none), and the rounds of the halving that meet them.
struct BinaryBlock {
  Rank base = 0;
  int size = 0;
  int smaller = 0;  // Stands behind.
  int larger = 0;   // Stands before.
  int merge_in = -1;
  int merge_out = -1;
};

// Rounds until a block has its own sums and those of all smaller ones: they are the lower bits of `world`.
int rounds_until_merged(int world, int size) {
  int done = 0;
  for (int bit = 1; bit <= size; bit *= 2) {
    if ((world & bit) == 0) continue;
    const bool smallest = (world & (bit - 1)) == 0;
    done = smallest ? floor_log2(bit) : std::max(floor_log2(bit), done) + 1;
  }
  return done;
}

BinaryBlock block_of(int world, Rank me) {
  BinaryBlock block;
  Rank base = 0;
  for (int bit = 1 << floor_log2(world); bit > 0; bit /= 2) {
    if ((world & bit) == 0) continue;
    if (block.size > 0) {
      block.smaller = bit;
      block.merge_in = rounds_until_merged(world, block.size) - 1;
      return block;
    }
    if (me < base + bit) {
      block.base = base;
      block.size = bit;
      if (block.larger > 0) block.merge_out = rounds_until_merged(world, block.larger) - 1;
    } else {
      block.larger = bit;
    }
    base += bit;
  }
  return block;
}

// One rank's part of the halving, and of the doubling, which is its mirror image.
class Halving {
 public:
  // `chunks` has as many parts as the largest block has ranks.
  Halving(int world, Rank me, Blocks chunks)
      : block_(block_of(world, me)), me_(me - block_.base), chunks_(std::move(chunks)) {}

  void add_halving(Round& round, int index) const {
    if ((block_.size >> index) > 1) {
      const int half = block_.size >> (index + 1);
      const int keep = me_ & ~(half - 1);
      add(round, send(partner(half), part(keep ^ half, half)));
      add(round, recv_reduce(partner(half), part(keep, half)));
    } else if (index == block_.merge_in) {
      add(round, recv_reduce(smaller_peer(), part(me_, 1)));
    } else if (index == block_.merge_out) {
      for (int i = 0; i < fan(); ++i) add(round, send(larger_peer(i), larger_part(i)));
    }
  }

  void add_doubling(Round& round, int index) const {
    if ((block_.size >> index) > 1) {
      const int half = block_.size >> (index + 1);
      const int keep = me_ & ~(half - 1);
      add(round, send(partner(half), part(keep, half)));
      add(round, recv(partner(half), part(keep ^ half, half)));
    } else if (index == block_.merge_in) {
      add(round, send(smaller_peer(), part(me_, 1)));
    } else if (index == block_.merge_out) {
      for (int i = 0; i < fan(); ++i) add(round, recv(larger_peer(i), larger_part(i)));
    }
  }

 private:
  // What ranks [first, first + ranks) of a block of `size` ranks stand for.
  Range part_of(int size, int first, int ranks) const {
    const int chunks_per_rank = chunks_.parts() / size;
    return chunks_.span(first * chunks_per_rank, (first + ranks) * chunks_per_rank);
  }
  Range part(int first, int ranks) const { return part_of(block_.size, first, ranks); }
  Rank partner(int half) const { return block_.base + (me_ ^ half); }

  Rank smaller_peer() const { return block_.base + block_.size + me_ / (block_.size / block_.smaller); }
  int fan() const { return block_.larger / block_.size; }
  Rank larger_peer(int i) const { return block_.base - block_.larger + me_ * fan() + i; }
  Range larger_part(int i) const { return part_of(block_.larger, me_ * fan() + i, 1); }

  BinaryBlock block_;
  int me_;  // Counted in the block.
  Blocks chunks_;
};

}  // namespace

Schedule halving_doubling_all_reduce(const Call& call, Rank me) {
  const int largest = 1 << floor_log2(call.world);
  const int half = ceil_log2(call.world);
  return {2 * half,
          [half, halving = Halving(call.world, me, Blocks(call.count, largest))](int index, Round& round) {
            if (index < half) {
              halving.add_halving(round, index);
            } else {
              halving.add_doubling(round, 2 * half - 1 - index);
            }
          }};
}

Schedule halving_reduce_scatter(const Call& call, Rank me) {
  const Halving halving(call.world, me, Blocks(call.count, call.world, call.blocks));
  return {floor_log2(call.world), [halving](int index, Round& round) { halving.add_halving(round, index); }};
}

}  // namespace hocket
