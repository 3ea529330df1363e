#include "collective/traffic.h"

#include <algorithm>
#include <vector>

namespace hocket {
namespace {

int distinct(std::vector<Rank>& ranks) {
  std::sort(ranks.begin(), ranks.end());
  return static_cast<int>(std::unique(ranks.begin(), ranks.end()) - ranks.begin());
}

// Adds one round of one rank. Returns whether it has messages.
bool add_round(ScheduleTraffic& traffic, const Round& round, std::size_t element_bytes,
               std::vector<Rank>& senders) {
  bool has_messages = false;
  senders.clear();
  for (const Action& action : round) {
    if (!action.is_message()) continue;
    const auto bytes = static_cast<std::int64_t>(action.range.size * element_bytes);
    has_messages = true;
    traffic.largest_message = std::max(traffic.largest_message, bytes);
    traffic.messages += action.is_send() ? 1 : 0;
    (action.is_send() ? traffic.bytes_sent : traffic.bytes_received) += bytes;
    if (!action.is_send()) senders.push_back(action.peer);
  }
  traffic.fan_in = std::max(traffic.fan_in, distinct(senders));
  return has_messages;
}

}  // namespace

ScheduleTraffic traffic_of(const Schedule& schedule, std::size_t element_bytes) {
  return traffic_of(std::span(&schedule, 1), element_bytes);
}

ScheduleTraffic traffic_of(std::span<const Schedule> schedules, std::size_t element_bytes) {
  ScheduleTraffic total;
  Round round;
  std::vector<Rank> senders;
  std::vector<bool> has_messages;
  for (const Schedule& schedule : schedules) {
    has_messages.resize(std::max(has_messages.size(), static_cast<std::size_t>(schedule.rounds())));
    for (int index = 0; index < schedule.rounds(); ++index) {
      schedule.round(index, round);
      if (add_round(total, round, element_bytes, senders))
        has_messages[static_cast<std::size_t>(index)] = true;
    }
  }
  total.rounds = static_cast<int>(std::count(has_messages.begin(), has_messages.end(), true));
  return total;
}

}  // namespace hocket
