#include "cli/bench/timed_loop.h"

#include <algorithm>
#include <chrono>
#include <cmath>

namespace hocket {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

std::vector<double> timed_loop(const LoopBudget& budget, const std::function<void()>& operation,
                               const Agree& agree) {
  constexpr int kWarmUp = 2;
  constexpr int kProbe = 3;
  for (int i = 0; i < kWarmUp; ++i) operation();
  const auto probe = Clock::now();
  for (int i = 0; i < kProbe; ++i) operation();
  const double each = std::max(seconds_since(probe) / kProbe, 1e-9);
  const double fitting = std::clamp<double>(std::round(budget.seconds / each), budget.least, budget.most);

  std::vector<double> samples(static_cast<std::size_t>(agree(fitting)));
  operation();  // Whoever learnt the number last has caught up.
  for (double& sample : samples) {
    const auto start = Clock::now();
    operation();
    sample = seconds_since(start);
  }
  return samples;
}

}  // namespace hocket
