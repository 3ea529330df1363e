#pragma once

#include "jobs/job_order.h"

namespace hocket {

// For policies that stop jobs so that others get their turn. `order` has all jobs that wait or run, the most
// deserving first. Jobs whose time slot is over and for which slots do not suffice are stopped, the others
// renewed; the head of the order always gets its turn, however the slots are scattered. What is free goes to
// waiting jobs in their order at any time.
Decisions take_turns(const ClusterState& state, const PolicyOptions& options, const JobOrder& order);

// Whether take_turns() could do anything at all: an order need not be made for nothing.
bool is_turn_due(const ClusterState& state, const PolicyOptions& options);

}  // namespace hocket
