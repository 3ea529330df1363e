#pragma once

#include <map>
#include <string>
#include <vector>

#include "cli/launch/rank_command.h"
#include "cli/launch/rank_process.h"
#include "cli/launch/rank_set.h"

namespace hocket {

// Ranks on this host: processes that this one has started.
class LocalRanks final : public RankSet {
 public:
  // Throws ConfigError when the program cannot be started; ranks that were started before are then ended.
  LocalRanks(const RankCommand& command, const JobKey& key, const std::vector<Rank>& ranks,
             bool first_reads_input);
  ~LocalRanks() override;

  void add_to(std::vector<pollfd>& polls) const override;
  void progress(RankEvents& events) override;
  void signal(int number) override;

 private:
  struct Running {
    RankProcess process;
    bool is_announced = false;
  };
  static void read_output(Rank rank, FileDescriptor& from, OutputKind kind, RankEvents& events);
  static bool try_reap(Rank rank, Running& running, RankEvents& events);

  std::map<Rank, Running> running_;
};

}  // namespace hocket
