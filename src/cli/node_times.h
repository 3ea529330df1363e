#pragma once

#include <vector>

#include "runtime/executable.h"

namespace hocket {

// The least time that each node of an executable takes in several steps: what it takes when nothing else
// disturbs the machine. On one thread the processor's time counts, which other programs do not lengthen; on
// several the time that passes. Used by one thread.
class NodeTimes {
 public:
  explicit NodeTimes(const Executable& executable);
  NodeTimes(const NodeTimes&) = delete;
  NodeTimes& operator=(const NodeTimes&) = delete;

  void forget();  // All that was measured so far.
  void begin();   // Just before the first node of a phase runs: what comes before is not counted.
  const Executable::Observer& observer() const { return observer_; }

  // By node of the graph; infinite for a node that has not run.
  const std::vector<double>& seconds() const { return least_; }

 private:
  std::vector<double> least_;
  double last_ = 0;
  Executable::Observer observer_;
};

}  // namespace hocket
