#include "jobs/take_turns.h"

#include <unordered_set>

#include "jobs/place_job.h"
#include "jobs/resize_jobs.h"
#include "jobs/start_jobs.h"

namespace hocket {
namespace {

bool is_fixed(const ClusterState& state, const ClusterJob& job, const PolicyOptions& options) {
  return job.state == JobState::running && !is_slot_over(state, job, options);
}

// Who of the jobs whose slot is over stays: by count of slots, in order.
std::vector<std::size_t> stayers(const ClusterState& state, const PolicyOptions& options,
                                 const JobOrder& order) {
  int slots = FreeSlots(state.machines).total();
  for (const std::size_t index : state.running) {
    if (is_fixed(state, state.jobs[index], options)) slots -= state.jobs[index].workers();
  }
  std::vector<std::size_t> stay;
  for (const std::size_t index : order) {
    const ClusterJob& job = state.jobs[index];
    if (job.state == JobState::stopping || is_fixed(state, job, options)) continue;
    const int need = job.state == JobState::running ? job.workers() : job.min_workers;
    if (need > slots) continue;
    slots -= need;
    if (job.state == JobState::running) stay.push_back(index);
    if (slots == 0) break;
  }
  return stay;
}

// What is free when of those whose slot is over `stay` alone go on.
FreeSlots room_beside(const ClusterState& state, const PolicyOptions& options,
                      const std::vector<std::size_t>& stay) {
  FreeSlots free(state.machines);
  for (const std::size_t index : state.running) {
    if (is_fixed(state, state.jobs[index], options))
      free.take(state.jobs[index], state.jobs[index].allocation);
  }
  for (const std::size_t index : stay) free.take(state.jobs[index], state.jobs[index].allocation);
  return free;
}

// The first that waits gets in whatever it takes, those behind it in the order going first.
void make_room_for_head(const ClusterState& state, const PolicyOptions& options, const JobOrder& order,
                        std::vector<std::size_t>& stay) {
  std::size_t before = 0;  // How many of `stay` are ahead of the head.
  const ClusterJob* head = nullptr;
  for (const std::size_t index : order) {
    if (state.jobs[index].state == JobState::waiting) {
      head = &state.jobs[index];
      break;
    }
    if (before < stay.size() && stay[before] == index) ++before;
  }
  if (head == nullptr) return;
  FreeSlots free = room_beside(state, options, stay);
  while (stay.size() > before && !place_job(free, *head, head->min_workers, state.spans_machines)) {
    free.give_back(state.jobs[stay.back()], state.jobs[stay.back()].allocation);
    stay.pop_back();
  }
}

// Whether take_turns() could do anything at all: an order need not be made for nothing.
bool is_turn_due(const ClusterState& state, const PolicyOptions& options) {
  if (state.waiting.empty()) return false;
  int busy = 0;
  for (const std::size_t index : state.running) {
    const ClusterJob& job = state.jobs[index];
    if (job.state == JobState::running && is_slot_over(state, job, options)) return true;
    busy += job.workers();
  }
  return busy < state.total_slots();
}

// `order` has all jobs that wait or run, the most deserving first. Jobs whose time slot is over and for which
// slots do not suffice are stopped, the others renewed; the head of the order always gets its turn, however
// the slots are scattered. What is free goes to waiting jobs in their order at any time.
Decisions take_turns(const ClusterState& state, const PolicyOptions& options, const JobOrder& order) {
  Decisions decisions;
  if (state.waiting.empty()) return decisions;
  decisions.wake = next_slot(state.now, options);

  std::vector<std::size_t> stay = stayers(state, options, order);
  make_room_for_head(state, options, order, stay);
  const std::unordered_set<std::size_t> stays(stay.begin(), stay.end());
  for (const std::size_t index : state.running) {
    const ClusterJob& job = state.jobs[index];
    if (job.state != JobState::running || is_fixed(state, job, options)) continue;
    (stays.contains(index) ? decisions.renewals : decisions.stops).push_back(index);
  }

  JobOrder waiting;
  for (const std::size_t index : order) {
    if (state.jobs[index].state == JobState::waiting) waiting.push_back(index);
  }
  if (decisions.stops.empty()) start_what_fits(state, waiting, decisions);
  return decisions;
}

}  // namespace

Decisions decide_turns(const ClusterState& state, const PolicyOptions& options, const MakeOrder& make_order) {
  Decisions decisions;
  if (is_turn_due(state, options)) {
    decisions = take_turns(state, options, make_order());
  } else if (!state.waiting.empty()) {
    decisions.wake = next_slot(state.now, options);
  }
  if (state.waiting.empty()) resize_jobs(state, options, {}, decisions);
  return decisions;
}

}  // namespace hocket
