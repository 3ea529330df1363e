#include "jobs/place_job.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace hocket {
namespace {

struct Gap {
  int machine = 0;
  int room = 0;
};

// The one machine that is left with the least room, or none.
std::optional<Allocation> on_one_machine(const std::vector<Gap>& gaps, int workers) {
  const Gap* best = nullptr;
  for (const Gap& gap : gaps) {
    if (gap.room >= workers && (best == nullptr || gap.room < best->room)) best = &gap;
  }
  if (best == nullptr) return std::nullopt;
  return Allocation{{best->machine, workers}};
}

Allocation fill(const std::vector<Gap>& gaps, int workers) {
  Allocation allocation;
  for (const Gap& gap : gaps) {
    const int here = std::min(gap.room, workers);
    if (here > 0) allocation.push_back({gap.machine, here});
    workers -= here;
  }
  return allocation;
}

int room_of(const std::vector<Gap>& gaps) {
  return std::accumulate(gaps.begin(), gaps.end(), 0, [](int sum, const Gap& gap) { return sum + gap.room; });
}

void largest_first(std::vector<Gap>& gaps) {
  std::stable_sort(gaps.begin(), gaps.end(), [](const Gap& a, const Gap& b) { return a.room > b.room; });
}

// The smallest rack that has room for all, or as many of the largest as it takes.
Allocation in_few_racks(const FreeSlots& free, const std::vector<Gap>& gaps, int workers) {
  std::map<int, std::vector<Gap>> by_rack;
  for (const Gap& gap : gaps) by_rack[free.rack(static_cast<std::size_t>(gap.machine))].push_back(gap);
  std::vector<std::vector<Gap>> racks;
  racks.reserve(by_rack.size());
  for (auto& [rack, members] : by_rack) racks.push_back(std::move(members));
  std::stable_sort(racks.begin(), racks.end(),
                   [](const auto& a, const auto& b) { return room_of(a) > room_of(b); });
  std::vector<Gap> chosen;
  for (std::size_t i = 0; i < racks.size() && room_of(chosen) < workers; ++i) {
    std::size_t last = i;  // Of the racks that are enough for the rest, the smallest.
    while (last + 1 < racks.size() && room_of(chosen) + room_of(racks[last + 1]) >= workers) ++last;
    largest_first(racks[last]);
    chosen.insert(chosen.end(), racks[last].begin(), racks[last].end());
  }
  return fill(chosen, workers);
}

}  // namespace

std::optional<Allocation> place_job(const FreeSlots& free, const ClusterJob& job, int workers,
                                    bool spans_machines) {
  if (free.total() < workers) return std::nullopt;
  std::vector<Gap> gaps;
  gaps.reserve(free.machines());
  for (std::size_t i = 0; i < free.machines(); ++i) {
    if (const int room = free.room(i, job); room > 0) gaps.push_back({static_cast<int>(i), room});
  }
  if (auto one = on_one_machine(gaps, workers)) return one;
  if (!spans_machines || !job.spans_machines || room_of(gaps) < workers) return std::nullopt;
  if (job.bytes_per_step > 0) return in_few_racks(free, gaps, workers);
  largest_first(gaps);
  std::reverse(gaps.begin(), gaps.end());
  return fill(gaps, workers);
}

std::optional<Allocation> place_most(const FreeSlots& free, const ClusterJob& job, bool spans_machines) {
  for (int workers = job.max_workers; workers >= job.min_workers; --workers) {
    if (auto found = place_job(free, job, workers, spans_machines)) return found;
  }
  return std::nullopt;
}

}  // namespace hocket
