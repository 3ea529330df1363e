#include "jobs/start_jobs.h"

#include <cmath>

#include "jobs/place_job.h"

namespace hocket {
namespace {

struct Ending {
  double when;
  const ClusterJob* job;
  const Allocation* allocation;

  bool operator<(const Ending& other) const {
    return when > other.when;
  }  // The earliest is on top of a heap.
};

double end_after_start(const ClusterState& state, const ClusterJob& job, const Allocation& allocation) {
  return state.now + job.left_at(state.now) * job.max_workers / std::max(1, workers_of(allocation));
}

// Earliest possible endings: of unknown length means at any moment.
std::vector<Ending> endings(const ClusterState& state, const Decisions& decisions) {
  std::vector<Ending> all;
  all.reserve(state.running.size());
  for (const std::size_t index : state.running) {
    const ClusterJob& job = state.jobs[index];
    const double end = job.state == JobState::stopping ? state.now : job.end_if_undisturbed(state.now);
    all.push_back({std::isfinite(end) ? end : state.now, &job, &job.allocation});
  }
  for (const JobStart& start : decisions.starts) {
    const ClusterJob& job = state.jobs[start.job];
    const double end = end_after_start(state, job, start.allocation);
    all.push_back({std::isfinite(end) ? end : state.now, &job, &start.allocation});
  }
  std::make_heap(all.begin(), all.end());
  return all;
}

// Whether starting `job` there leaves the head its reservation, which is then the smaller for it.
bool leaves_room(const ClusterState& state, const ClusterJob& job, const Allocation& allocation,
                 const ClusterJob& head, Reservation& reservation) {
  if (end_after_start(state, job, allocation) <= reservation.when) return true;
  if (!reservation.free.holds(job, allocation)) return false;
  reservation.free.take(job, allocation);
  if (place_job(reservation.free, head, head.min_workers, state.spans_machines)) return true;
  reservation.free.give_back(job, allocation);
  return false;
}

}  // namespace

SlotLedger::SlotLedger(const ClusterState& state) : now_(state.free_slots()), soon_(now_) {
  for (const std::size_t index : state.running) {
    const ClusterJob& job = state.jobs[index];
    if (job.state == JobState::stopping) soon_.give_back(job, job.allocation);
  }
}

bool SlotLedger::give(const ClusterState& state, std::size_t index, Decisions& decisions) {
  const ClusterJob& job = state.jobs[index];
  if (auto allocation = place_most(now_, job, state.spans_machines);
      allocation && soon_.holds(job, *allocation)) {
    start(state, index, std::move(*allocation), decisions);
    return true;
  }
  const auto promised = place_job(soon_, job, job.min_workers, state.spans_machines);
  if (promised) soon_.take(job, *promised);
  return promised.has_value();
}

void SlotLedger::start(const ClusterState& state, std::size_t index, Allocation allocation,
                       Decisions& decisions) {
  const ClusterJob& job = state.jobs[index];
  now_.take(job, allocation);
  soon_.take(job, allocation);
  decisions.starts.push_back({index, std::move(allocation), std::nullopt});
}

Reservation reserve(const ClusterState& state, const SlotLedger& ledger, const Decisions& decisions,
                    const ClusterJob& head) {
  Reservation reservation{state.now, ledger.now()};
  std::vector<Ending> heap = endings(state, decisions);
  while (!heap.empty() && !place_job(reservation.free, head, head.min_workers, state.spans_machines)) {
    const Ending& next = heap.front();
    reservation.when = next.when;
    reservation.free.give_back(*next.job, *next.allocation);
    std::pop_heap(heap.begin(), heap.end());
    heap.pop_back();
  }
  return reservation;
}

void start_what_fits(const ClusterState& state, const JobOrder& waiting, Decisions& decisions) {
  SlotLedger ledger(state);
  for (const std::size_t job : waiting) {
    if (ledger.now().total() == 0) return;
    ledger.give(state, job, decisions);
  }
}

std::size_t start_with_backfill(const ClusterState& state, const JobOrder& waiting,
                                const PolicyOptions& options, Decisions& decisions) {
  SlotLedger ledger(state);
  std::size_t at = 0;
  while (at < waiting.size() && ledger.now().total() > 0 && ledger.give(state, waiting[at], decisions)) ++at;
  if (at == waiting.size() || ledger.now().total() == 0) return at;

  const ClusterJob& head = state.jobs[waiting[at]];
  std::optional<Reservation> reservation;
  const std::size_t last =
      std::min(waiting.size(), at + 1 + static_cast<std::size_t>(options.backfill_depth));
  for (std::size_t i = at + 1; i < last && ledger.now().total() > 0; ++i) {
    const ClusterJob& job = state.jobs[waiting[i]];
    auto allocation = place_most(ledger.now(), job, state.spans_machines);
    if (!allocation || !ledger.soon().holds(job, *allocation)) continue;
    if (!reservation) reservation = reserve(state, ledger, decisions, head);
    if (leaves_room(state, job, *allocation, head, *reservation))
      ledger.start(state, waiting[i], std::move(*allocation), decisions);
  }
  return at;
}

}  // namespace hocket
