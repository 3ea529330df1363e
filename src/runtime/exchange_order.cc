#include "runtime/exchange_order.h"

#include <algorithm>
#include <limits>

namespace hocket {

std::vector<std::int32_t> order_exchanges(std::span<const ExchangeCourse> courses) {
  std::vector<std::int32_t> order;
  std::vector<bool> is_done(courses.size(), false);
  double now = 0;
  while (order.size() < courses.size()) {
    std::size_t best = courses.size();
    double next = std::numeric_limits<double>::infinity();  // When the first of those left is ready.
    for (std::size_t i = 0; i < courses.size(); ++i) {
      if (is_done[i]) continue;
      next = std::min(next, courses[i].ready);
      if (courses[i].ready <= now && (best == courses.size() || courses[i].urgency < courses[best].urgency))
        best = i;
    }
    if (best == courses.size()) {
      now = next;
      continue;
    }
    is_done[best] = true;
    order.push_back(static_cast<std::int32_t>(best));
    now += courses[best].seconds;
  }
  return order;
}

bool is_order(std::span<const std::int32_t> order) {
  std::vector<bool> is_named(order.size(), false);
  for (const std::int32_t number : order) {
    if (number < 0 || static_cast<std::size_t>(number) >= order.size()) return false;
    if (is_named[static_cast<std::size_t>(number)]) return false;
    is_named[static_cast<std::size_t>(number)] = true;
  }
  return true;
}

}  // namespace hocket
