#pragma once

#include <functional>

#include "jobs/job_order.h"

namespace hocket {

// All jobs that wait or run, the most deserving first.
using MakeOrder = std::function<JobOrder()>;

// For policies that stop jobs so that others get their turn: turns where one is due, for which alone an order
// is made, else when to look again; elastic jobs grow where nobody waits.
Decisions decide_turns(const ClusterState& state, const PolicyOptions& options, const MakeOrder& make_order);

}  // namespace hocket
