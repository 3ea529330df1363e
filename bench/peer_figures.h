#pragma once

#include <fmt/format.h>

#include <cstddef>
#include <cstdio>
#include <sstream>
#include <string>
#include <vector>

#include "cli/bench/statistics.h"
#include "cli/bench/timed_loop.h"

// What the peers of `hocket bench collectives` have in common: their arguments and the lines that they print.
namespace hocket {

struct PeerArguments {
  std::vector<std::size_t> bytes;
  LoopBudget budget;
};

// `bytes`: sizes with commas between them. `seconds`: for each size.
inline PeerArguments parse_peer_arguments(const std::string& bytes, const std::string& seconds) {
  PeerArguments arguments;
  std::istringstream list(bytes);
  for (std::string size; std::getline(list, size, ',');) arguments.bytes.push_back(std::stoul(size));
  arguments.budget.seconds = std::stod(seconds);
  return arguments;
}

inline void print_figures(const std::string& algorithm, std::size_t bytes, std::vector<double> seconds) {
  for (double& sample : seconds) sample *= 1e6;
  const Spread us = spread_of(std::move(seconds));
  fmt::print(R"({{"algorithm":"{}","bytes":{},"median_us":{:.4g},"p10_us":{:.4g},"p90_us":{:.4g}}})"
             "\n",
             algorithm, bytes, us.median, us.p10, us.p90);
  std::fflush(stdout);
}

}  // namespace hocket
