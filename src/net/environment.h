#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include "net/rank.h"

namespace hocket {

// The value of an environment variable, if it is set and not empty.
using Variables = std::function<std::optional<std::string>(const std::string& name)>;
Variables process_variables();

// How this process was started, as its environment tells.
struct Environment {
  enum class Source { alone, hocket_launch, torchrun, mpi, pmi, slurm };

  Source source = Source::alone;
  Rank rank = 0;
  int world_size = 1;
  int local_rank = 0;
  std::string coordinator_host;  // Empty when only an exchange or a file can tell.
  std::uint16_t coordinator_port = 0;
  std::string meeting_name;            // The same on all ranks of the job, on one host no other job's.
  std::optional<int> key_fd;           // The job key, in a descriptor
  std::optional<std::string> key_hex;  // or as text.
  std::optional<int> pmi_fd;
  int restarts = 0;  // How often the launcher has started the job's ranks anew.
  bool plaintext = false;
};

// Looks for hocket launch, torchrun's variables, mpirun, PMI and Slurm, in this order; the first complete set
// counts. Throws ConfigError that names what is missing when there is only a part of a set.
Environment detect_environment(const Variables& variables);

// One line: "rank 2 of 4, by torchrun's variables".
std::string describe(const Environment& environment);

// The first host of a Slurm list: "node07" of "node[07-09,12],gpu1".
std::string first_host(std::string_view node_list);

}  // namespace hocket
