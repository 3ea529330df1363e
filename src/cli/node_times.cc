#include "cli/node_times.h"

#include <time.h>

#include <algorithm>
#include <limits>

#include "tensor/kernels/threads.h"

namespace hocket {
namespace {

double seconds_now() {
  timespec now{};
  ::clock_gettime(kernel::num_threads() == 1 ? CLOCK_THREAD_CPUTIME_ID : CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

}  // namespace

NodeTimes::NodeTimes(const Executable& executable)
    : least_(executable.graph().nodes().size(), std::numeric_limits<double>::infinity()),
      observer_([this](int node) {
        double& seconds = least_[static_cast<std::size_t>(node)];
        seconds = std::min(seconds, seconds_now() - last_);
        last_ = seconds_now();
      }) {}

void NodeTimes::forget() { std::fill(least_.begin(), least_.end(), std::numeric_limits<double>::infinity()); }

void NodeTimes::begin() { last_ = seconds_now(); }

}  // namespace hocket
