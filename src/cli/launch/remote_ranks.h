#pragma once

#include <set>
#include <string>

#include "cli/launch/agent_message.h"
#include "cli/launch/rank_process.h"
#include "cli/launch/rank_set.h"
#include "net/framed_stream.h"
#include "net/liveness.h"

namespace hocket {

inline constexpr HeartbeatTiming kAgentHeartbeat{Seconds(0.5), Seconds(5.0)};

// Ranks on another host, by way of the agent there. When the agent is lost, so are its ranks.
class RemoteRanks final : public RankSet {
 public:
  // `caller` is the process that started the agent, if any.
  RemoteRanks(std::string host, FramedStream agent, const StartRanks& start, RankProcess caller);
  ~RemoteRanks() override;

  void add_to(std::vector<pollfd>& polls) const override;
  void progress(RankEvents& events) override;
  void signal(int number) override;

 private:
  void hear(RankEvents& events);
  void lose(RankEvents& events, std::string_view why);

  std::string host_;
  FramedStream agent_;
  std::set<Rank> running_;
  RankProcess caller_;
  Liveness liveness_;
};

// Passes on what the process that starts an agent says.
void pass_on_output(RankProcess& process);

}  // namespace hocket
