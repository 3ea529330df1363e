#pragma once

#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "cli/launch/launch.h"
#include "cli/launch/rank_command.h"
#include "cli/launch/rank_process.h"
#include "cli/launch/rank_set.h"
#include "cli/launch/signals_to_poll.h"
#include "net/listener.h"

namespace hocket {

// Agents that have called and been authenticated, by host. Thread-safe.
class AgentCalls {
 public:
  void put(Accepted accepted);
  FileDescriptor take(int host, bool& is_encrypted);  // None when it has not called yet.

 private:
  std::mutex mutex_;
  std::map<int, Accepted> calls_;
};

// Has agents started on the hosts of the launch that are not this one, waits for their calls and gives each
// its ranks. Throws NetError that names the host whose agent does not call.
std::vector<std::unique_ptr<RankSet>> start_remote_ranks(const LaunchOptions& options,
                                                         const RankCommand& command, const JobKey& key,
                                                         AgentCalls& calls, SignalsToPoll& signals);

}  // namespace hocket
