// Bruck et al., 1997: distances double, any P, ceil(log2 P) rounds, fan-in 1.
//
// all_gather: rank r collects the blocks r, r+1, r+2, … in that order in scratch; in round i it gets as many
// as it has (in the last, what is missing) from rank r + 2^i. (P-1)/P of N per rank; scratch N. The last
// round turns the blocks into rank order.
//
// all_to_all: a block that has to go d ranks further travels by the bits of d: in round i all that have bit i
// set go to rank r + 2^i as one message. About (N/2) ceil(log2 P) per rank; a local round before it packs the
// first message.
//
// barrier: in round i rank r tells r + 2^i that it, and all it has heard of, have come (Hensgen, Finkel and
// Manber, 1988).

#include "collective/algorithms/algorithms.h"

namespace hocket {
namespace {

// Scratch of an all_to_all: `place` d holds what has to go, or came, d ranks in all. Messages are packed in
// two buffers in turn, since the next one is packed while the last one is under way, and are received in a
// third.
class BruckAllToAll {
 public:
  BruckAllToAll(const Call& call, Rank me)
      : me_(me), data_(data_blocks(call, me)), input_(input_blocks(call, me)), stride_(data_[0].size) {}

  std::size_t scratch_size() const { return (world() + 3 * most_in_message()) * stride_; }

  void add_first_packing(Round& round) const {
    add(round, copy(Buffer::input, input_[me_].offset, data_[me_]));
    add_packing(round, 0);
  }

  void add_step(Round& round, int step) const {
    const int distance = 1 << step;
    const Rank to = wrap(me_ + distance, data_.parts());
    const Rank from = wrap(me_ - distance, data_.parts());
    add(round, send(to, {packed(step), message_size(me_, step)}, Buffer::scratch));
    add(round, recv(from, {received(), message_size(from, step)}, Buffer::scratch));
    add_unpacking(round, from, step);
    if (2 * distance < data_.parts()) add_packing(round, step + 1);
  }

 private:
  std::size_t world() const { return static_cast<std::size_t>(data_.parts()); }
  std::size_t most_in_message() const { return (world() + 1) / 2; }
  std::size_t place(int d) const { return static_cast<std::size_t>(d) * stride_; }
  std::size_t packed(int step) const {
    return (world() + static_cast<std::size_t>(step % 2) * most_in_message()) * stride_;
  }
  std::size_t received() const { return (world() + 2 * most_in_message()) * stride_; }

  static int travelled(int d, int step) { return d & ((1 << step) - 1); }

  // The size of what is at place d of `rank` before `step`: it is that of the rank it came from.
  std::size_t size_at(Rank rank, int d, int step) const { return data_[rank - travelled(d, step)].size; }

  // The next distance after d with bit `step` set.
  static int next(int d, int step) { return (d + 1) | (1 << step); }

  std::size_t message_size(Rank rank, int step) const {
    std::size_t size = 0;
    for (int d = 1 << step; d < data_.parts(); d = next(d, step)) size += size_at(rank, d, step);
    return size;
  }

  void add_packing(Round& round, int step) const {
    std::size_t offset = packed(step);
    for (int d = 1 << step; d < data_.parts(); d = next(d, step)) {
      const std::size_t size = size_at(me_, d, step);
      const bool moved = travelled(d, step) != 0;
      const std::size_t at = moved ? place(d) : input_[me_ + d].offset;
      add(round, copy(moved ? Buffer::scratch : Buffer::input, at, {offset, size}, Buffer::scratch));
      offset += size;
    }
  }

  void add_unpacking(Round& round, Rank from, int step) const {
    std::size_t offset = received();
    for (int d = 1 << step; d < data_.parts(); d = next(d, step)) {
      const std::size_t size = size_at(from, d, step);
      const bool arrived = d < (2 << step);
      add(round, arrived ? copy(Buffer::scratch, offset, data_[me_ - d])
                         : copy(Buffer::scratch, offset, {place(d), size}, Buffer::scratch));
      offset += size;
    }
  }

  Rank me_;
  Blocks data_;
  Blocks input_;
  std::size_t stride_;  // The largest block.
};

}  // namespace

Schedule bruck_all_gather(const Call& call, Rank me) {
  const Blocks blocks(call.count, call.world, call.blocks);
  const int rounds = ceil_log2(call.world);
  return {
      rounds,
      [me, rounds, blocks](int index, Round& round) {
        const int world = blocks.parts();
        const int have = 1 << index;
        const int more = std::min(have, world - have);
        const Rank to = wrap(me - have, world);
        const Range out = {0, blocks.size_around(me, me + more)};
        const Range in = {blocks.size_around(me, me + have), blocks.size_around(me + have, me + have + more)};
        if (index == 0 && rounds > 1)
          add(round, copy(Buffer::data, blocks[me].offset, {0, blocks[me].size}, Buffer::scratch));
        add(round, index == 0 ? send(to, blocks[me]) : send(to, out, Buffer::scratch));
        add(round, recv(wrap(me + have, world), in, Buffer::scratch));
        if (index + 1 < rounds) return;
        const Range after_me = blocks.span(me + 1, world);
        add(round, copy(Buffer::scratch, blocks[me].size, after_me));
        add(round, copy(Buffer::scratch, blocks[me].size + after_me.size, blocks.span(0, me)));
      },
      call.count};
}

Schedule bruck_all_to_all(const Call& call, Rank me) {
  const BruckAllToAll bruck(call, me);
  return {1 + ceil_log2(call.world),
          [bruck](int index, Round& round) {
            if (index == 0) {
              bruck.add_first_packing(round);
            } else {
              bruck.add_step(round, index - 1);
            }
          },
          bruck.scratch_size()};
}

Schedule bruck_barrier(const Call& call, Rank me) {
  return {ceil_log2(call.world), [me, world = call.world](int index, Round& round) {
            round.push_back(send(wrap(me + (1 << index), world), kSignal));
            round.push_back(recv(wrap(me - (1 << index), world), kSignal));
          }};
}

}  // namespace hocket
