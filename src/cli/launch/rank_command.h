#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "net/job.h"
#include "net/socket.h"

namespace hocket {

// What to start, and what its ranks find in their environment.
struct RankCommand {
  std::vector<std::string> words;
  std::vector<std::string> environment;  // NAME=VALUE, from the launcher's own.
  std::string folder;                    // To start in, where it exists.
  int world_size = 1;
  Endpoint coordinator;
  std::uint16_t master_port = 0;  // For programs of torch's: free when the launcher looked.
  bool plaintext = false;
  int restarts = 0;           // How often the ranks were started before.
  int host = 0;               // Which of the launch's hosts this is.
  bool pipes_output = false;  // Standard output too passes through the launcher.
};

// By this variable every process of a job on a host is known, whoever its parents are. `host` counts the
// hosts of the launch.
std::string job_mark(const JobKey& key, int host);

// The environment of one rank: the launcher's without what other launchers left in it, and the variables of
// hocket launch and of torchrun.
std::vector<std::string> environment_of(const RankCommand& command, const JobKey& key, Rank rank,
                                        int local_rank, int local_size, int key_fd);

// What of this process's environment goes along to other hosts.
std::vector<std::string> environment_for_other_hosts(const std::vector<std::string>& environment);

std::vector<std::string> this_environment();

}  // namespace hocket
