#pragma once

#include <string>
#include <variant>
#include <vector>

#include "cli/launch/rank_command.h"
#include "cli/launch/rank_set.h"
#include "net/clock.h"

namespace hocket {

inline constexpr Seconds kAgentCallTimeout{30.0};

// What a launcher and its agent on another host say to each other.
struct StartRanks {
  RankCommand command;
  std::vector<Rank> ranks;
};
struct SignalRanks {
  int number = 0;
};
struct RankStarted {
  Rank rank = 0;
  int pid = 0;
  std::string host;
};
struct RankWrote {
  Rank rank = 0;
  OutputKind kind = OutputKind::out;
  std::string bytes;
};
struct RankEnded {
  Rank rank = 0;
  int status = 0;
};
struct CannotStart {
  std::string why;
};
struct StillHere {};  // Both ways, every half second.
using AgentMessage =
    std::variant<StartRanks, SignalRanks, RankStarted, RankWrote, RankEnded, CannotStart, StillHere>;

// decode_agent() throws NetError for bytes that no encode() has made.
std::vector<std::byte> encode(const AgentMessage& message);
AgentMessage decode_agent(std::span<const std::byte> bytes);

}  // namespace hocket
