#pragma once

#include <cstddef>
#include <span>

#include "cli/bench/collective_figures.h"
#include "collective/group.h"

namespace hocket {

// Measures collectives as one rank of a group; all of its ranks measure the same cases in the same order.
// Used by one thread, which is the group's. Throws what the group throws.
class CollectiveMeter {
 public:
  // Takes the memory for the largest case of `task`. Group and task outlive it.
  CollectiveMeter(Group& group, const CollectiveTask& task);

  // Times are those of this rank; the counts are the same on all ranks.
  CollectiveFigures measure(const CollectiveCase& measured);

 private:
  Operation operation_of(const CollectiveCase& measured) const;
  CollectiveCounts count(const Operation& operation);
  double agree(double number);

  Group& group_;
  const CollectiveTask& task_;
  std::vector<std::byte> private_memory_;
  std::span<std::byte> data_;
  std::span<std::byte> input_;
};

// Whether the ranks of `task` can run it: the algorithm exists for this collective, world and transport.
bool can_run(const CollectiveTask& task, const CollectiveCase& measured);

}  // namespace hocket
