#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "collective/schedule.h"

namespace hocket {

// What a schedule moves, read off the schedule.
struct ScheduleTraffic {
  std::int64_t messages = 0;  // Sent.
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  int rounds = 0;                    // That have messages.
  int fan_in = 0;                    // The most peers that one round receives from.
  std::int64_t largest_message = 0;  // Bytes, sent or received.

  bool operator==(const ScheduleTraffic&) const = default;
};

ScheduleTraffic traffic_of(const Schedule& schedule, std::size_t element_bytes);

// Of all ranks together: messages and bytes added up; rounds in which any rank has messages; the largest
// fan-in and message of a rank.
ScheduleTraffic traffic_of(std::span<const Schedule> schedules, std::size_t element_bytes);

}  // namespace hocket
