#pragma once

#include <functional>
#include <vector>

namespace hocket {

struct LoopBudget {
  double seconds = 0.2;  // Of measuring, roughly.
  int least = 5;         // Calls that are timed, however long they take
  int most = 20000;      // and however short.
};

// Makes rank 0's number known to every rank.
using Agree = std::function<double(double)>;

// The measurement that every contestant of `hocket bench collectives` makes: all ranks call `operation`
// equally often, one call right after the other, and each times its own. Returns the seconds of each call.
std::vector<double> timed_loop(const LoopBudget& budget, const std::function<void()>& operation,
                               const Agree& agree);

}  // namespace hocket
