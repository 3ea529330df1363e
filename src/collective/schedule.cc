#include "collective/schedule.h"

#include <algorithm>
#include <utility>

namespace hocket {

Schedule operator+(Schedule first, Schedule second) {
  const int rounds = first.rounds() + second.rounds();
  const std::size_t scratch_size = std::max(first.scratch_size(), second.scratch_size());
  return {rounds,
          [first = std::move(first), second = std::move(second)](int index, Round& round) {
            if (index < first.rounds()) {
              first.round(index, round);
            } else {
              second.round(index - first.rounds(), round);
            }
          },
          scratch_size};
}

Schedule in_group(Schedule schedule, std::vector<Rank> members) {
  const int rounds = schedule.rounds();
  const std::size_t scratch_size = schedule.scratch_size();
  return {rounds,
          [schedule = std::move(schedule), members = std::move(members)](int index, Round& round) {
            schedule.round(index, round);
            for (Action& action : round) {
              if (action.is_message()) action.peer = members[static_cast<std::size_t>(action.peer)];
            }
          },
          scratch_size};
}

Range split_evenly(std::size_t count, int parts, int index) {
  const auto n = static_cast<std::size_t>(parts);
  const auto i = static_cast<std::size_t>(((index % parts) + parts) % parts);
  const std::size_t small = count / n;
  const std::size_t larger = count % n;  // The first `larger` parts have one element more.
  return {i * small + std::min(i, larger), small + (i < larger ? 1 : 0)};
}

}  // namespace hocket
