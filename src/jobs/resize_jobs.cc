#include "jobs/resize_jobs.h"

#include "jobs/place_job.h"
#include "jobs/start_jobs.h"

namespace hocket {
namespace {

bool may_resize(const ClusterState& state, const PolicyOptions& options, const ClusterJob& job) {
  return job.state == JobState::running && job.is_elastic() && !job.host &&
         state.now >= job.slice_began + options.slot;
}

// The same machines with fewer workers, the last ones losing theirs first.
Allocation shrunk(const Allocation& from, int workers) {
  Allocation to;
  for (const JobShare& share : from) {
    const int here = std::min(share.workers, workers);
    if (here > 0) to.push_back({share.machine, here});
    workers -= here;
  }
  return to;
}

void shrink_for(const ClusterState& state, const PolicyOptions& options, const ClusterJob& head,
                Decisions& decisions) {
  FreeSlots free = state.free_slots();
  std::vector<JobStart> resizes;
  for (const std::size_t index : state.running) {
    const ClusterJob& job = state.jobs[index];
    if (!may_resize(state, options, job)) continue;
    for (int workers = job.workers() - 1; workers >= job.min_workers; --workers) {
      FreeSlots then = free;
      const Allocation smaller = shrunk(job.allocation, workers);
      then.give_back(job, job.allocation);
      then.take(job, smaller);
      const bool is_enough = place_job(then, head, head.min_workers, state.spans_machines).has_value();
      if (!is_enough && workers > job.min_workers) continue;
      free = then;
      resizes.push_back({index, smaller, std::nullopt});
      if (is_enough) {
        decisions.resizes = std::move(resizes);
        return;
      }
    }
  }
}

void grow(const ClusterState& state, const PolicyOptions& options, Decisions& decisions) {
  FreeSlots free = state.free_slots();
  for (const std::size_t index : state.running) {
    const ClusterJob& job = state.jobs[index];
    if (free.total() == 0) return;
    if (job.state != JobState::running || !job.is_elastic() || job.host || job.workers() == job.max_workers)
      continue;
    if (!may_resize(state, options, job)) {
      const double when = job.slice_began + options.slot;
      decisions.wake = decisions.wake ? std::min(*decisions.wake, when) : when;
      continue;
    }
    FreeSlots then = free;
    then.give_back(job, job.allocation);
    const auto larger = place_most(then, job, state.spans_machines);
    if (!larger || workers_of(*larger) <= job.workers()) continue;
    then.take(job, *larger);
    free = then;
    decisions.resizes.push_back({index, *larger, std::nullopt});
  }
}

}  // namespace

void resize_jobs(const ClusterState& state, const PolicyOptions& options, const JobOrder& waiting,
                 Decisions& decisions) {
  if (!decisions.change_nothing()) return;
  for (const std::size_t index : state.running) {
    if (state.jobs[index].state == JobState::stopping) return;  // One change at a time.
  }
  if (!waiting.empty()) {
    shrink_for(state, options, state.jobs[waiting.front()], decisions);
    const double again = next_slot(state.now, options);
    for (const std::size_t index : state.running) {
      if (state.jobs[index].is_elastic() && !decisions.wake) decisions.wake = again;
    }
  } else {
    grow(state, options, decisions);
  }
}

}  // namespace hocket
