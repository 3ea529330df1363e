#include "collective/interpreter.h"

#include <cstring>
#include <string_view>
#include <utility>

#include "base/error.h"

namespace hocket {
namespace {

using Bytes = std::vector<std::byte>;

// Messages from one rank to another, in the order they were sent.
struct Channel {
  std::vector<Bytes> messages;
  std::size_t taken = 0;
};

class Interpreter {
 public:
  Interpreter(std::span<const Schedule> schedules, std::span<const RankMemory> memory,
              std::size_t element_bytes, const ReduceFunction& reduce)
      : element_bytes_(element_bytes), reduce_(reduce), channels_(schedules.size() * schedules.size()) {
    for (std::size_t rank = 0; rank < schedules.size(); ++rank) {
      ranks_.push_back({static_cast<Rank>(rank), schedules[rank], memory[rank],
                        Bytes(schedules[rank].scratch_size() * element_bytes, std::byte{0xa5})});
    }
  }

  void run() {
    bool moved = true;
    while (moved) {
      moved = false;
      for (RankState& rank : ranks_) moved = advance(rank) || moved;
    }
    for (const RankState& rank : ranks_) {
      if (!rank.finished())
        throw Error("rank {}: round {}: waits for a message that never comes", rank.me, rank.index);
    }
    for (const Channel& channel : channels_) {
      if (channel.taken < channel.messages.size()) throw Error("a message was never received");
    }
  }

 private:
  struct RankState {
    Rank me;
    const Schedule& schedule;
    RankMemory memory;
    Bytes scratch;
    int index = 0;
    bool entered = false;
    std::size_t next = 0;  // The next action of the round that is not a send.
    Round round = {};

    bool finished() const { return index == schedule.rounds(); }
  };

  // Goes on until the rank waits or has finished. Returns whether it did anything.
  bool advance(RankState& rank) {
    bool moved = false;
    while (!rank.finished()) {
      if (!rank.entered) {
        enter(rank);
        moved = true;
      }
      for (; rank.next < rank.round.size(); ++rank.next) {
        if (!perform(rank, rank.round[rank.next])) return moved;
        moved = true;
      }
      rank.entered = false;
      ++rank.index;
    }
    return moved;
  }

  void enter(RankState& rank) {
    rank.schedule.round(rank.index, rank.round);
    rank.entered = true;
    rank.next = 0;
    for (const Action& action : rank.round) {
      if (!action.is_send()) continue;
      const auto bytes = source(rank, action.buffer, action.range);
      channel(rank.me, action.peer).messages.emplace_back(bytes.begin(), bytes.end());
    }
  }

  // Returns whether the action could be done: a receive may have to wait.
  bool perform(RankState& rank, const Action& action) {
    switch (action.kind) {
      case Action::Kind::send: return true;
      case Action::Kind::recv:
      case Action::Kind::recv_reduce: return receive(rank, action);
      case Action::Kind::copy:
      case Action::Kind::reduce: break;
    }
    const auto from = source(rank, action.source, {action.source_offset, action.range.size});
    write(rank, action, from);
    return true;
  }

  bool receive(RankState& rank, const Action& action) {
    Channel& incoming = channel(action.peer, rank.me);
    if (incoming.taken == incoming.messages.size()) return false;
    const Bytes message = std::exchange(incoming.messages[incoming.taken++], {});
    if (message.size() != action.range.size * element_bytes_) {
      throw Error("rank {}: round {}: expects {} bytes from rank {}, gets {}", rank.me, rank.index,
                  action.range.size * element_bytes_, action.peer, message.size());
    }
    write(rank, action, message);
    return true;
  }

  void write(RankState& rank, const Action& action, std::span<const std::byte> from) {
    HOCKET_CHECK(action.buffer != Buffer::input, "rank {}: input is only read", rank.me);
    const std::span<std::byte> buffer =
        action.buffer == Buffer::data ? rank.memory.data : std::span<std::byte>(rank.scratch);
    const std::span<std::byte> into = part(buffer, action.range);
    const bool reduces = action.kind == Action::Kind::recv_reduce || action.kind == Action::Kind::reduce;
    if (reduces) {
      reduce_(into, from);
    } else if (!into.empty()) {
      std::memcpy(into.data(), from.data(), into.size());
    }
  }

  std::span<const std::byte> source(const RankState& rank, Buffer buffer, Range range) const {
    switch (buffer) {
      case Buffer::data: return part(rank.memory.data, range);
      case Buffer::input: return part(rank.memory.input, range);
      case Buffer::scratch: break;
    }
    return part(std::span<const std::byte>(rank.scratch), range);
  }

  template <typename Byte>
  std::span<Byte> part(std::span<Byte> buffer, Range range) const {
    HOCKET_CHECK(range.end() * element_bytes_ <= buffer.size(), "elements [{}, {}) of a buffer of {}",
                 range.offset, range.end(), buffer.size() / element_bytes_);
    return buffer.subspan(range.offset * element_bytes_, range.size * element_bytes_);
  }

  Channel& channel(Rank from, Rank to) {
    return channels_[static_cast<std::size_t>(from) * ranks_.size() + static_cast<std::size_t>(to)];
  }

  std::size_t element_bytes_;
  const ReduceFunction& reduce_;
  std::vector<RankState> ranks_;
  std::vector<Channel> channels_;
};

}  // namespace

void interpret(std::span<const Schedule> schedules, std::span<const RankMemory> memory,
               std::size_t element_bytes, const ReduceFunction& reduce) {
  Interpreter(schedules, memory, element_bytes, reduce).run();
}

}  // namespace hocket
