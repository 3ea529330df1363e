#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace hocket {

using JobId = std::int64_t;

enum class JobState {
  waiting,   // Never started, or suspended.
  running,   // Holds slots; its process is about to be started or is there.
  stopping,  // Told to write a checkpoint and end; holds its slots until it has.
  done,
  failed,
  cancelled,
};

const char* name_of(JobState state);
std::optional<JobState> find_job_state(const std::string& name);
inline bool has_ended(JobState state) { return state > JobState::stopping; }

// `workers` of a job on one machine.
struct JobShare {
  int machine = 0;
  int workers = 0;

  bool operator==(const JobShare&) const = default;
};
using Allocation = std::vector<JobShare>;

int workers_of(const Allocation& allocation);

// A job as the scheduler sees it: what it asks for, and what it has had. Times are seconds on the clock of
// whoever runs the policy. A value type.
struct ClusterJob {
  JobId id = 0;
  std::string name;
  std::string owner;
  int min_workers = 1;
  int max_workers = 1;
  std::int64_t memory_bytes = 0;   // Of each worker.
  int priority = 0;                // Each level counts as much as PolicyOptions::level of waiting.
  bool spans_machines = true;      // May run on several at once.
  double bytes_per_step = 0;       // What its workers send; above 0 it wants few racks.
  std::optional<double> length{};  // Seconds in all with max_workers, known or estimated.
  double submitted = 0;

  JobState state = JobState::waiting;
  Allocation allocation{};     // While it runs or stops.
  double waiting_since = 0;    // While it waits.
  double started = 0;          // While it runs: since when.
  double slice_began = 0;      // While it runs: when it last began, or was let run on for a slot.
  double served = 0;           // Seconds it had run before `started`, as with max_workers.
  double attained = 0;         // Worker seconds it had had before `started`.
  std::optional<JobId> host;   // Shares the slots of this job, and counts for none of its own.
  std::optional<double> pace;  // While it shares: how fast it is, as a share of how fast it is alone.
  bool shares_badly = false;   // It was tried, and throughput said no.

  bool is_elastic() const { return min_workers < max_workers; }
  int workers() const { return workers_of(allocation); }
  double attained_at(double now) const;  // Worker seconds.
  double left_at(double now) const;      // Seconds with max_workers; infinite when the length is unknown.
  double end_if_undisturbed(double now) const;
};

}  // namespace hocket
