#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "net/rank.h"

namespace hocket {

// A host and the ranks that run there.
struct HostRanks {
  std::string host;
  std::vector<Rank> ranks;
};

// "a:2,b:2": ranks 0 and 1 on a, 2 and 3 on b; a host without a number has one. Throws ConfigError.
std::vector<HostRanks> parse_hosts(std::string_view text);

// Whether no ssh is needed to start a program there.
bool is_this_host(const std::string& host);

}  // namespace hocket
