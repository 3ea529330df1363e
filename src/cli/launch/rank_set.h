#pragma once

#include <poll.h>

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "net/rank.h"

namespace hocket {

enum class OutputKind : std::uint8_t { out = 1, err = 2 };

// What ranks do, wherever they run.
class RankEvents {
 public:
  virtual ~RankEvents() = default;
  virtual void on_start(Rank rank, int pid, const std::string& host) = 0;
  virtual void on_output(Rank rank, OutputKind kind, std::string_view bytes) = 0;
  virtual void on_exit(Rank rank, int status) = 0;  // As waitpid(2) gives it; the last of a rank's events.
};

// Ranks of one host as their launcher sees them. Used by one thread, which polls what add_to() names and then
// calls progress(). Never blocks.
class RankSet {
 public:
  virtual ~RankSet() = default;
  virtual void add_to(std::vector<pollfd>& polls) const = 0;
  virtual void progress(RankEvents& events) = 0;
  virtual void signal(int number) = 0;  // To the process groups of all that still run.
};

}  // namespace hocket
