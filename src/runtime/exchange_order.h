#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace hocket {

// One exchange of a step, as the rank that plans has seen it.
struct ExchangeCourse {
  double ready = 0;    // When it could begin, in any unit of time after the beginning of backward;
  double seconds = 0;  // how long it takes, in the same unit.
  int urgency = 0;     // The lower, the earlier the next step needs it.
};

// In which order exchanges shall run, one after the other, so that the next step waits for them as little as
// it can: whenever one ends, the most urgent of those that are ready. All ranks must follow the same order,
// so that one of them plans for all.
std::vector<std::int32_t> order_exchanges(std::span<const ExchangeCourse> courses);

// Whether `order`, which another rank sent, names each of its exchanges once.
bool is_order(std::span<const std::int32_t> order);

}  // namespace hocket
