#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "jobs/policy.h"

// Orders of jobs, the most deserving first, as positions in ClusterState::jobs.
namespace hocket {

using JobOrder = std::vector<std::size_t>;

// When it came, with what its priority is worth. Whoever waits becomes the oldest in the end.
inline double arrival(const ClusterJob& job, const PolicyOptions& options) {
  return job.submitted - job.priority * options.level;
}

inline bool is_overdue(const ClusterState& state, const ClusterJob& job, const PolicyOptions& options) {
  return job.state == JobState::waiting && state.now - job.waiting_since > options.patience;
}

// Whether it runs on since an earlier time slot than this one.
inline bool is_slot_over(const ClusterState& state, const ClusterJob& job, const PolicyOptions& options) {
  return static_cast<std::int64_t>(job.slice_began / options.slot) <
         static_cast<std::int64_t>(state.now / options.slot);
}

inline double next_slot(double now, const PolicyOptions& options) {
  double slots = std::floor(now / options.slot) + 1;
  while (slots * options.slot <= now) ++slots;  // The quotient was rounded down.
  return slots * options.slot;
}

// How many jobs at the front of an order can matter at all: enough to fill the cluster, and some to pass
// over.
inline std::size_t useful_length(const ClusterState& state, const PolicyOptions& options) {
  return state.running.size() + static_cast<std::size_t>(state.total_slots() + options.backfill_depth);
}

// The first `length` of `jobs` by `key` of each, smallest first; of equals, whoever came first.
template <typename Key>
JobOrder ordered_by(const ClusterState& state, const PolicyOptions& options, JobOrder jobs,
                    std::size_t length, Key key) {
  using Value = decltype(key(state.jobs.front()));
  struct Entry {
    Value value;
    double arrival;
    std::size_t job;
    bool operator<(const Entry& other) const {
      if (value != other.value) return value < other.value;
      return arrival != other.arrival ? arrival < other.arrival : job < other.job;
    }
  };
  std::vector<Entry> entries;
  entries.reserve(jobs.size());
  for (const std::size_t job : jobs)
    entries.push_back({key(state.jobs[job]), arrival(state.jobs[job], options), job});
  jobs.resize(std::min(jobs.size(), length));
  const auto end = entries.begin() + static_cast<std::ptrdiff_t>(jobs.size());
  if (end != entries.end()) std::nth_element(entries.begin(), end, entries.end());
  std::sort(entries.begin(), end);
  for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i] = entries[i].job;
  return jobs;
}

// As many of all that wait or run as can matter, in the order of ordered_by().
template <typename Key>
JobOrder order_of_all(const ClusterState& state, const PolicyOptions& options, Key key) {
  JobOrder all = state.waiting;
  all.insert(all.end(), state.running.begin(), state.running.end());
  return ordered_by(state, options, std::move(all), useful_length(state, options), key);
}

}  // namespace hocket
