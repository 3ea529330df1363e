// The proof is a run of all ranks on names instead of numbers: an element is a set of ranks, those whose
// contributions it sums, and the place that they had in the vectors those ranks started with. A message is
// taken when it is the turn of its receive, and its send completes only then; the order in which ranks are
// advanced cannot change the outcome, since a receive names its sender and messages of two ranks stay in
// order.

#include "collective/checker.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/error.h"
#include "collective/blocks.h"
#include "collective/show.h"

namespace hocket {
namespace {

using RankSet = std::uint64_t;

RankSet only(Rank rank) { return RankSet{1} << rank; }

// What an element holds. No ranks: undefined.
struct Element {
  RankSet ranks = 0;
  std::size_t origin = 0;  // Where in `data` (all_to_all: `input`) of those ranks it stood.

  bool operator==(const Element&) const = default;
};

using Elements = std::vector<Element>;

struct Message {
  Elements elements;
  RankSet heard_of;
  std::size_t action;  // In the round of the sender.
};

struct Channel {
  std::vector<Message> messages;
  std::size_t taken = 0;
};

struct RankState {
  Rank me;
  std::array<Elements, 3> buffers;  // By Buffer.
  RankSet heard_of;                 // Ranks that are known to have started.
  int index = 0;
  bool entered = false;
  std::size_t next = 0;  // The next action of the round that is not a send.
  Round round = {};
  std::vector<bool> sending = {};  // By action: its message has not been taken yet.
  int sends = 0;                   // How many of those.

  Elements& buffer(Buffer which) { return buffers[static_cast<std::size_t>(which)]; }
};

bool overlaps(Range a, Range b) {
  return a.size > 0 && b.size > 0 && a.offset < b.end() && b.offset < a.end();
}

bool writes(const Action& action) { return !action.is_send(); }
bool is_local(const Action& action) { return !action.is_message(); }
bool adds(const Action& action) {
  return action.kind == Action::Kind::recv_reduce || action.kind == Action::Kind::reduce;
}
Range source_range(const Action& action) { return {action.source_offset, action.range.size}; }

// ---- what a collective starts from and must end with ----

void define(Elements& elements, Range range, Rank rank) {
  for (std::size_t i = range.offset; i < range.end(); ++i) elements[i] = {only(rank), i};
}

void define_start(const Call& call, RankState& rank) {
  const Range whole = {0, call.count};
  Elements& data = rank.buffer(Buffer::data);
  switch (call.collective) {
    case Collective::broadcast:
    case Collective::scatter:
      if (rank.me == call.root) define(data, whole, rank.me);
      break;
    case Collective::gather:
    case Collective::all_gather: define(data, data_blocks(call, rank.me)[rank.me], rank.me); break;
    case Collective::all_to_all:
      define(rank.buffer(Buffer::input), {0, input_size(call, rank.me)}, rank.me);
      break;
    default: define(data, whole, rank.me);
  }
}

// A part of the result: elements [range) hold the sum over `ranks` of what stood from `origin` on.
struct Claim {
  Range range;
  RankSet ranks;
  std::size_t origin;
};

std::vector<Claim> demands_of(const Call& call, Rank me) {
  const RankSet everyone = ~RankSet{0} >> (kLargestCheckedWorld - call.world);
  const Blocks blocks = data_blocks(call, me);
  const bool is_root = me == call.root;
  std::vector<Claim> demands;
  const auto from_each = [&] {
    for (Rank from = 0; from < call.world; ++from) {
      const bool moved = call.collective == Collective::all_to_all;
      const std::size_t origin = moved ? input_blocks(call, from)[me].offset : blocks[from].offset;
      demands.push_back({blocks[from], only(from), origin});
    }
  };
  switch (call.collective) {
    case Collective::broadcast: return {{{0, call.count}, only(call.root), 0}};
    case Collective::reduce: return {{{0, is_root ? call.count : 0}, everyone, 0}};
    case Collective::all_reduce: return {{{0, call.count}, everyone, 0}};
    case Collective::scatter: return {{blocks[me], only(call.root), blocks[me].offset}};
    case Collective::reduce_scatter: return {{blocks[me], everyone, blocks[me].offset}};
    case Collective::gather:
      if (is_root) from_each();
      break;
    case Collective::all_gather:
    case Collective::all_to_all: from_each(); break;
    case Collective::barrier: break;
  }
  return demands;
}

// ---- the run ----

class Checker {
 public:
  Checker(const Call& call, std::span<const Schedule> schedules)
      : call_(call), schedules_(schedules), channels_(schedules.size() * schedules.size()) {
    for (Rank me = 0; me < call.world; ++me) {
      RankState rank{me,
                     {Elements(data_size(call, me)), Elements(input_size(call, me)),
                      Elements(schedule(me).scratch_size())},
                     only(me)};
      define_start(call, rank);
      ranks_.push_back(std::move(rank));
    }
  }

  std::optional<std::string> run() {
    bool moved = true;
    while (moved && !fault_) {
      moved = false;
      for (RankState& rank : ranks_) moved = advance(rank) || moved;
    }
    for (RankState& rank : ranks_) check_finished(rank);
    for (RankState& rank : ranks_) check_result(rank);
    return fault_;
  }

 private:
  const Schedule& schedule(Rank rank) const { return schedules_[static_cast<std::size_t>(rank)]; }
  RankState& state(Rank rank) { return ranks_[static_cast<std::size_t>(rank)]; }
  bool finished(const RankState& rank) const { return rank.index == schedule(rank.me).rounds(); }
  Channel& channel(Rank from, Rank to) {
    return channels_[static_cast<std::size_t>(from) * ranks_.size() + static_cast<std::size_t>(to)];
  }

  // Keeps the first fault. Returns false, as what goes on from a fault does.
  bool fail(const RankState& rank, std::size_t action, const std::string& what) {
    if (fault_) return false;
    fault_ = fmt::format("rank {}, round {}, action {} ({}): {}", rank.me, rank.index, action,
                         text_of(rank.round[action]), what);
    return false;
  }

  // Goes on until the rank waits or has finished. Returns whether it did anything.
  bool advance(RankState& rank) {
    bool moved = false;
    while (!fault_ && !finished(rank)) {
      if (!rank.entered) {
        enter(rank);
        moved = true;
      }
      for (; !fault_ && rank.next < rank.round.size(); ++rank.next) {
        if (!perform(rank, rank.next)) return moved;
        moved = true;
      }
      if (rank.sends > 0) return moved;
      rank.entered = false;
      ++rank.index;
    }
    return moved;
  }

  void enter(RankState& rank) {
    schedule(rank.me).round(rank.index, rank.round);
    rank.entered = true;
    rank.next = 0;
    rank.sending.assign(rank.round.size(), false);
    for (std::size_t i = 0; i < rank.round.size(); ++i) {
      if (!check_action(rank, i)) return;
    }
    for (std::size_t i = 0; i < rank.round.size(); ++i) {
      if (rank.round[i].is_send()) start_send(rank, i);
    }
  }

  bool check_action(RankState& rank, std::size_t i) {
    const Action& action = rank.round[i];
    const auto fits = [&](Buffer buffer, Range range) {
      return range.end() >= range.offset && range.end() <= rank.buffer(buffer).size();
    };
    if (action.is_message() && (action.peer < 0 || action.peer >= call_.world || action.peer == rank.me)) {
      return fail(rank, i, "no such peer");
    }
    if (!fits(action.buffer, action.range)) return fail(rank, i, "outside of the buffer");
    if (writes(action) && action.buffer == Buffer::input) return fail(rank, i, "writes the input");
    if (is_local(action)) {
      if (!fits(action.source, source_range(action))) return fail(rank, i, "reads outside of the buffer");
      if (action.source == action.buffer && overlaps(source_range(action), action.range)) {
        return fail(rank, i, "writes what it reads");
      }
    }
    return !writes(action) || check_sends_are_left_alone(rank, i);
  }

  bool check_sends_are_left_alone(RankState& rank, std::size_t i) {
    const Action& action = rank.round[i];
    for (const Action& other : rank.round) {
      if (other.is_send() && other.buffer == action.buffer && overlaps(other.range, action.range)) {
        return fail(rank, i, fmt::format("writes what the same round sends ({})", text_of(other)));
      }
    }
    return true;
  }

  void start_send(RankState& rank, std::size_t i) {
    const Action& action = rank.round[i];
    const auto begin = rank.buffer(action.buffer).begin() + static_cast<std::ptrdiff_t>(action.range.offset);
    Elements elements(begin, begin + static_cast<std::ptrdiff_t>(action.range.size));
    for (const Element& element : elements) {
      if (element.ranks == 0) {
        fail(rank, i, "sends what nobody has written");
        return;
      }
    }
    channel(rank.me, action.peer).messages.push_back({std::move(elements), rank.heard_of, i});
    rank.sending[i] = true;
    ++rank.sends;
  }

  // Returns whether the action is done: a receive may have to wait.
  bool perform(RankState& rank, std::size_t i) {
    const Action& action = rank.round[i];
    if (action.is_send()) return true;
    if (action.is_message()) return receive(rank, i);
    const auto begin = rank.buffer(action.source).begin() + static_cast<std::ptrdiff_t>(action.source_offset);
    return write(rank, i, std::span<const Element>(begin, action.range.size));
  }

  bool receive(RankState& rank, std::size_t i) {
    const Action& action = rank.round[i];
    Channel& incoming = channel(action.peer, rank.me);
    if (incoming.taken == incoming.messages.size()) return false;
    const Message message = std::exchange(incoming.messages[incoming.taken++], {});
    RankState& sender = state(action.peer);
    sender.sending[message.action] = false;
    --sender.sends;
    rank.heard_of |= message.heard_of;
    if (message.elements.size() != action.range.size) {
      return fail(rank, i, fmt::format("gets a message of {} elements", message.elements.size()));
    }
    return write(rank, i, message.elements);
  }

  bool write(RankState& rank, std::size_t i, std::span<const Element> from) {
    const Action& action = rank.round[i];
    Elements& buffer = rank.buffer(action.buffer);
    for (std::size_t e = 0; e < from.size(); ++e) {
      Element& into = buffer[action.range.offset + e];
      if (!adds(action)) {
        into = from[e];
      } else if (!add(rank, i, into, from[e])) {
        return false;
      }
    }
    return true;
  }

  bool add(RankState& rank, std::size_t i, Element& into, const Element& from) {
    if (into.ranks == 0 || from.ranks == 0) return fail(rank, i, "adds what nobody has written");
    if (into.origin != from.origin) return fail(rank, i, "adds elements that do not belong together");
    if (const RankSet twice = into.ranks & from.ranks; twice != 0) {
      return fail(rank, i, fmt::format("adds the contribution of rank {} twice", std::countr_zero(twice)));
    }
    into.ranks |= from.ranks;
    return true;
  }

  // ---- the end ----

  void check_finished(RankState& rank) {
    if (fault_ || finished(rank)) return;
    const std::size_t waiting = waiting_action(rank);
    fail(rank, waiting, "waits for ever" + cycle_from(rank));
  }

  // What a rank that waits, waits for.
  static std::size_t waiting_action(const RankState& rank) {
    if (rank.next < rank.round.size()) return rank.next;
    std::size_t i = 0;
    while (!rank.sending[i]) ++i;
    return i;
  }

  // Whom the rank waits for, whom that one waits for, and so on until one comes again or has finished.
  std::string cycle_from(const RankState& rank) {
    std::string text;
    RankSet seen = 0;
    Rank at = rank.me;
    while ((seen & only(at)) == 0 && !finished(state(at))) {
      seen |= only(at);
      const RankState& waiting = state(at);
      at = waiting.round[waiting_action(waiting)].peer;
      text += fmt::format(", {} for rank {}", text.empty() ? "it" : "that", at);
    }
    return text + (finished(state(at)) ? ", which has finished" : ", in a cycle");
  }

  void check_result(RankState& rank) {
    if (fault_) return;
    const RankSet everyone = ~RankSet{0} >> (kLargestCheckedWorld - call_.world);
    if (call_.collective == Collective::barrier && rank.heard_of != everyone) {
      fault_ = fmt::format("rank {} leaves the barrier before rank {} has come in", rank.me,
                           std::countr_one(rank.heard_of));
    }
    for (const Claim& demand : demands_of(call_, rank.me)) {
      for (std::size_t i = 0; i < demand.range.size && !fault_; ++i) check_element(rank, demand, i);
    }
  }

  void check_element(RankState& rank, const Claim& demand, std::size_t i) {
    const Element expected = {demand.ranks, demand.origin + i};
    const Element& found = rank.buffer(Buffer::data)[demand.range.offset + i];
    if (found == expected) return;
    if (const RankSet missing = expected.ranks & ~found.ranks; missing != 0) {
      fault_ = fmt::format("rank {}, after {} rounds, element {}: the contribution of rank {} is missing",
                           rank.me, rank.index, demand.range.offset + i, std::countr_zero(missing));
    } else {
      fault_ = fmt::format("rank {}, after {} rounds, element {}: holds what it must not", rank.me,
                           rank.index, demand.range.offset + i);
    }
  }

  const Call& call_;
  std::span<const Schedule> schedules_;
  std::vector<RankState> ranks_;
  std::vector<Channel> channels_;
  std::optional<std::string> fault_;
};

}  // namespace

std::optional<std::string> find_fault(const Call& call, std::span<const Schedule> schedules) {
  HOCKET_CHECK(call.world <= kLargestCheckedWorld && schedules.size() == static_cast<std::size_t>(call.world),
               "{} schedules for a world of {}", schedules.size(), call.world);
  return Checker(call, schedules).run();
}

std::optional<std::string> find_fault(const Call& call) {
  std::vector<Schedule> schedules;
  schedules.reserve(static_cast<std::size_t>(call.world));
  for (Rank rank = 0; rank < call.world; ++rank) schedules.push_back(schedule_of(call, rank));
  return find_fault(call, schedules);
}

}  // namespace hocket
