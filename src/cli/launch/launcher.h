#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "cli/launch/launch.h"
#include "cli/launch/rank_output.h"
#include "cli/launch/rank_set.h"
#include "cli/launch/signals_to_poll.h"
#include "cli/launch/supervisor.h"
#include "net/coordinator_server.h"

namespace hocket {

// Watches over the ranks of a launch until all have ended, passes on what they write and the signals that
// this process gets, and says at the end who failed first. Used by one thread.
class Launcher final : public RankEvents {
 public:
  Launcher(const LaunchOptions& options, CoordinatorServer& coordinator, SignalsToPoll& signals);

  int run(std::vector<std::unique_ptr<RankSet>>& sets);  // Returns an ExitCode.

  void on_start(Rank rank, int pid, const std::string& host) override;
  void on_output(Rank rank, OutputKind kind, std::string_view bytes) override;
  void on_exit(Rank rank, int status) override;

 private:
  using Sets = std::vector<std::unique_ptr<RankSet>>;

  void wait(const Sets& sets) const;
  void take_signals(Sets& sets);
  void pause(Sets& sets) const;
  void look_at_coordinator();
  std::string name_of(Rank rank) const;
  int report_end();
  void report_failure(Rank rank);

  bool ranks_explain_;
  Supervisor supervisor_;
  RankOutput output_;
  CoordinatorServer& coordinator_;
  SignalsToPoll& signals_;
  std::map<Rank, std::string> places_;  // "pid 4711 on host"
};

}  // namespace hocket
