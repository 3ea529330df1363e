#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "jobs/cluster_job.h"

namespace hocket {

// A job as Slurm tells of it.
struct SlurmState {
  JobState state = JobState::waiting;
  bool is_held = false;  // It waits until it is resumed.
  std::string word;      // Slurm's own, as in NODE_FAIL.
  std::string reason;    // As in Resources; empty for none.
  std::string machine;
  double seconds = 0;  // It has run for, since it was last started.
  int restarts = 0;
};

// What to ask squeue for, and what it answers, line by line. Lines of jobs in arrays are left out. Throws
// DataError for an answer that is none.
inline constexpr const char* kSqueueFields =
    "--Format=JobID:|,State:|,Reason:|,NodeList:|,TimeUsed:|,RestartCnt:|,PriorityLong:|";
std::map<JobId, SlurmState> parse_squeue(std::string_view text);

JobState state_of(std::string_view slurm_word);

// The jobs of this user that Slurm knows: those that have not ended, or not long ago.
std::map<JobId, SlurmState> slurm_queue();
// A job that has ended longer ago, where the site keeps accounts.
std::optional<SlurmState> find_accounted(JobId id);

}  // namespace hocket
