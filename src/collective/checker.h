#pragma once

#include <optional>
#include <span>
#include <string>

#include "collective/collective.h"
#include "collective/schedule.h"

namespace hocket {

constexpr int kLargestCheckedWorld = 64;

// Proves on the schedules alone, following every element's contributions by name, that
//   every contribution is added exactly once where the collective demands it, and every result is complete;
//   ranges lie inside their buffers, nothing undefined is sent or added, `input` is only read, and no action
//   writes what a send of its round reads or what it copies from; each message is received, by a receive of
//   the same size; no rank waits in a cycle, even when a send only completes once its receive is posted and a
//   rank posts the receives of a round one after the other.
// Returns the first fault, naming rank, round and action. `schedules` are those of all ranks, in order.
std::optional<std::string> find_fault(const Call& call, std::span<const Schedule> schedules);

// The same for the schedules of a supported call.
std::optional<std::string> find_fault(const Call& call);

}  // namespace hocket
