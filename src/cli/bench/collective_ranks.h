#pragma once

#include <functional>
#include <vector>

#include "cli/bench/collective_figures.h"

namespace hocket {

using TakeFigures = std::function<void(const CollectiveFigures&)>;

// Measures the cases of `task`, but for those that cannot run there, as one rank of the job that this process
// was started for, and hands each result to `take`, on rank 0 alone. Returns the transport, which `task` may
// leave open. Throws NetError.
TransportKind measure_as_rank(const CollectiveTask& task, const TakeFigures& take);

// Starts the ranks of `task` on this machine, measures, and ends them: processes, or threads of one process
// for the transport inproc. The calling process must have a single thread. Throws Error when they fail.
std::vector<CollectiveFigures> run_collective_task(const CollectiveTask& task);

}  // namespace hocket
