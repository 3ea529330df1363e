#pragma once

#include <vector>

#include "cli/doctor/finding.h"
#include "net/world.h"

namespace hocket {

// Looks at a job: whether all pairs of ranks reach each other and how fast, how far their clocks are apart,
// and whether there are cores for all. Every rank calls it; the findings are rank 0's. Throws NetError that
// names who does not answer.
std::vector<Finding> look_at_job(World& world);

}  // namespace hocket
