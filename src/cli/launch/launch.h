#pragma once

#include <string>
#include <vector>

#include "cli/launch/host_list.h"
#include "cli/launch/supervisor.h"

namespace hocket {

struct LaunchOptions {
  std::vector<std::string> words;  // The program and its arguments.
  std::vector<HostRanks> hosts;
  bool tags_output = false;
  bool ranks_explain = false;  // A rank that fails says why itself, unless a signal killed it.
  Seconds interruption = SupervisorOptions().interruption;
  bool plaintext = false;
  int restarts = 0;  // How often the ranks were started before: they find it in their environment.
  bool by_hand = false;
  std::string ssh;
  std::string address;   // Empty: by the route to the first other host.
  std::string key_file;  // Empty: a random key.
  std::string meeting;   // A file to leave the launcher's address in, for agents that others start.

  int world_size() const;
  bool is_here(std::size_t host) const;  // With a meeting, the first alone.
};

// Starts the ranks, waits for their end and returns an ExitCode: 0 when all ended with 0, else the code of
// the rank that failed first, or 4 when a signal killed it. Nothing of the job survives it.
int launch(const LaunchOptions& options);

struct AgentOptions {
  std::string launcher;  // ADDRESS:PORT, or file: and the launcher's meeting.
  int host = 0;
  std::string key_file;  // "-": standard input.
  bool plaintext = false;
};

// Starts ranks on this host for a launcher elsewhere; ends with it.
int run_agent(const AgentOptions& options);

}  // namespace hocket
