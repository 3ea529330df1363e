#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "net/rank.h"

namespace hocket {

// Elements [offset, offset + size) of a buffer.
struct Range {
  std::size_t offset = 0;
  std::size_t size = 0;

  std::size_t end() const { return offset + size; }
  bool operator==(const Range&) const = default;
};

// The memory that a schedule works on. `data` is the collective's vector, where its result ends up; `input`
// is only read (all-to-all); `scratch` holds Schedule::scratch_size elements whose contents start undefined.
enum class Buffer : std::uint8_t { data, input, scratch };

// One thing that a rank does: a message, or (copy, reduce) work on its own memory, where `source` says from
// where.
struct Action {
  enum class Kind : std::uint8_t { send, recv, recv_reduce, copy, reduce };

  Kind kind;
  Rank peer = -1;  // Of a message.
  Buffer buffer = Buffer::data;
  Range range;
  Buffer source = Buffer::scratch;  // Of copy and reduce: `range.size` elements from `source_offset`.
  std::size_t source_offset = 0;

  bool is_send() const { return kind == Kind::send; }
  bool is_message() const { return kind <= Kind::recv_reduce; }
  bool operator==(const Action&) const = default;
};

// All sends of a round start together, when it begins. The other actions take effect in the order listed, so
// sums are made in that order; none of them writes what a send of the same round reads. The round is over
// when all is done.
using Round = std::vector<Action>;

// What one rank does in a collective: a pure function from the number of a round to the round, so that a
// schedule of any length costs no memory. Messages from one rank to another match in the order of the rounds,
// then of listing. Immutable; may be called by any thread.
class Schedule {
 public:
  using RoundFunction = std::function<void(int index, Round& round)>;  // Appends to `round`, which is empty.

  Schedule() = default;
  Schedule(int rounds, RoundFunction function, std::size_t scratch_size = 0)
      : rounds_(rounds), scratch_size_(scratch_size), function_(std::move(function)) {}

  int rounds() const { return rounds_; }
  std::size_t scratch_size() const { return scratch_size_; }  // Elements.
  void round(int index, Round& round) const {
    round.clear();
    function_(index, round);
  }

 private:
  int rounds_ = 0;
  std::size_t scratch_size_ = 0;
  RoundFunction function_;
};

// `first`, then `second`, on the same buffers.
Schedule operator+(Schedule first, Schedule second);

// The schedule of a group inside a world: ranks of `schedule` count `members`. Rounds in which it has nothing
// are empty.
Schedule in_group(Schedule schedule, std::vector<Rank> members);

// ---- how builders write actions ----

inline Action send(Rank to, Range range, Buffer from = Buffer::data) {
  return {Action::Kind::send, to, from, range};
}
inline Action recv(Rank from, Range range, Buffer into = Buffer::data) {
  return {Action::Kind::recv, from, into, range};
}
inline Action recv_reduce(Rank from, Range range, Buffer into = Buffer::data) {
  return {Action::Kind::recv_reduce, from, into, range};
}
inline Action copy(Buffer source, std::size_t source_offset, Range range, Buffer into = Buffer::data) {
  return {Action::Kind::copy, -1, into, range, source, source_offset};
}
inline Action reduce(Buffer source, std::size_t source_offset, Range range, Buffer into = Buffer::data) {
  return {Action::Kind::reduce, -1, into, range, source, source_offset};
}

// Part `index` (taken modulo `parts`) of `count` elements cut into `parts` as evenly as can be, larger parts
// first.
Range split_evenly(std::size_t count, int parts, int index);

}  // namespace hocket
