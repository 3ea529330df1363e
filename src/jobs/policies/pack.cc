// As fifo, and when no slot is free a job may share those of a running one with as many workers, where memory
// suffices (Gandiva, OSDI'18). Packing is a trial: a pair that together is not faster than one alone, as
// their paces say, is parted, and neither is tried again; a job that was never alone, whose pace nobody can
// know, counts as fast as its partner. The guest is the one that stops.

#include <map>
#include <unordered_map>

#include "jobs/place_job.h"
#include "jobs/policy.h"
#include "jobs/resize_jobs.h"
#include "jobs/start_jobs.h"

namespace hocket {
namespace {

using Guests = std::unordered_map<JobId, std::size_t>;  // By host.

Guests guests_of(const ClusterState& state) {
  Guests guests;
  for (const std::size_t index : state.running) {
    if (state.jobs[index].host) guests.emplace(*state.jobs[index].host, index);
  }
  return guests;
}

void part_bad_pairs(const ClusterState& state, const PolicyOptions& options, const Guests& guests,
                    Decisions& decisions) {
  for (const std::size_t index : state.running) {
    const ClusterJob& host = state.jobs[index];
    const auto found = guests.find(host.id);
    if (found == guests.end()) continue;
    const ClusterJob& guest = state.jobs[found->second];
    const auto& known = host.pace ? host.pace : guest.pace;
    if (guest.state != JobState::running || !known) continue;
    const double pace = *known + guest.pace.value_or(*known);
    if (pace >= options.good_pair) continue;
    decisions.stops.push_back(found->second);
    decisions.bad_pairs.push_back(found->second);
    decisions.bad_pairs.push_back(index);
  }
}

bool can_host(const ClusterJob& host, const Guests& guests) {
  return host.state == JobState::running && !host.host && !host.shares_badly && !host.is_elastic() &&
         !guests.contains(host.id);
}

// Each waiting job in turn finds the first host with as many workers that has memory for it.
void pack(const ClusterState& state, const PolicyOptions& options, const Guests& guests,
          const JobOrder& waiting, std::size_t from, Decisions& decisions) {
  std::map<int, std::vector<const ClusterJob*>> hosts;  // By workers.
  for (const std::size_t index : state.running) {
    const ClusterJob& host = state.jobs[index];
    if (can_host(host, guests)) hosts[host.workers()].push_back(&host);
  }
  FreeSlots free = state.free_slots();
  const std::size_t last = std::min(waiting.size(), from + static_cast<std::size_t>(options.backfill_depth));
  for (std::size_t i = from; i < last && !hosts.empty(); ++i) {
    ClusterJob guest = state.jobs[waiting[i]];
    if (guest.shares_badly || guest.is_elastic()) continue;
    auto& candidates = hosts[guest.min_workers];
    const auto host = std::find_if(candidates.begin(), candidates.end(), [&](const ClusterJob* candidate) {
      guest.host = candidate->id;
      return free.holds(guest, candidate->allocation);
    });
    if (host == candidates.end()) continue;
    free.take(guest, (*host)->allocation);
    decisions.starts.push_back({waiting[i], (*host)->allocation, (*host)->id});
    candidates.erase(host);
  }
}

}  // namespace

Decisions decide_pack(const ClusterState& state, const PolicyOptions& options) {
  Decisions decisions;
  const JobOrder& waiting = state.waiting;
  const Guests guests = guests_of(state);
  part_bad_pairs(state, options, guests, decisions);
  if (!decisions.stops.empty()) return decisions;
  const std::size_t head = start_with_backfill(state, waiting, options, decisions);
  if (decisions.starts.empty() && head < waiting.size())
    pack(state, options, guests, waiting, head, decisions);
  resize_jobs(state, options, waiting, decisions);
  return decisions;
}

}  // namespace hocket
