#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "base/rng.h"
#include "collective/schedule.h"
#include "collective/topology.h"

namespace hocket {

// What became of a collective on modelled links.
struct Simulation {
  std::vector<Seconds> finish;  // By rank.
  std::vector<Seconds> busy;    // By queue of the topology's LinkTree.
  std::array<std::uint64_t, kLevels>
      bytes;  // That left a node of each level: of racks, the cross-rack bytes.
  std::uint64_t messages = 0;
  int rounds = 0;  // Of the rank that has most.

  Seconds time() const;          // When the last rank is done.
  double utilisation() const;    // The share of that time in which ranks were sending, on average.
  std::uint64_t most_bytes = 0;  // That one rank has sent.
};

// Who is first when ranks race: a fixed shuffle, so that none of them always wins.
inline std::uint64_t turn_of(Rank rank) { return mix_bits(static_cast<std::uint64_t>(rank)); }

using ScheduleOfRank = std::function<Schedule(Rank)>;

// Replays what all ranks of `topology` do, from time 0 on. The messages of a round are posted when it begins,
// sends in the order listed; it is over when what it sends has been sent and what it receives delivered.
// Links are queues as LinkTree says, which is what link emulation follows too; work on a rank's own memory
// takes no time. Ranks that begin rounds at the very same time do so in the order of turn_of().
// Deterministic; asks for one round at a time, so that memory grows with ranks and messages under way only.
// Throws Error when ranks wait for each other for ever, and ConfigError when more messages are under way than
// memory should hold.
Simulation simulate(const ScheduleOfRank& schedule_of_rank, const Topology& topology,
                    std::size_t element_bytes);

}  // namespace hocket
