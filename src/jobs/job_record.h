#pragma once

#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "jobs/cluster_state.h"
#include "jobs/job_message.h"

namespace hocket {

// A job as the coordinator keeps it on disk.
struct JobRecord {
  ClusterJob job;                  // Its machines are those of JobStore::machines().
  std::vector<std::string> words;  // The arguments of `hocket train`.
  std::string folder;              // Where it was submitted: the command starts there.
  int attempt = 0;                 // How often it was started. No two attempts run at once.
  int restarts = 0;                // How often it ended without being told and was started again.
  bool is_cancelled = false;       // To be ended for good once it has stopped.
  Allocation next;                 // While stopping to be resized: how it goes on.
  double ended = 0;
  std::string reason;                  // Why it failed, or was last started again.
  std::optional<double> rate_alone{};  // Samples a second while it shared slots with nobody.
  // Samples a second, row by row, since it started or its partner came or went: that is in the first. Not
  // kept.
  std::vector<double> rates{};

  // Of an attempt on several machines, whose first leads and alone knows how it went:
  std::vector<int> gone{};                // Machines whose part has ended.
  std::optional<AttemptEnded> outcome{};  // How the first ended, or what could not start.
  bool is_part_lost = false;              // With its agent.

  bool is_active() const { return !has_ended(job.state); }
  bool is_on(int machine) const {  // Or a part of it.
    return std::any_of(job.allocation.begin(), job.allocation.end(),
                       [&](const JobShare& share) { return share.machine == machine; }) &&
           std::find(gone.begin(), gone.end(), machine) == gone.end();
  }
};

// from_json functions throw DataError for what no to_json has made.
std::string to_json_text(const JobRecord& record);
JobRecord job_record_from_json(const std::string& text);
std::string to_json_text(const ClusterMachine& machine);
ClusterMachine machine_from_json(const std::string& text);

// What survives a crash of the coordinator. save() returns once it is durable and throws Error, with nothing
// changed, when it cannot be. Used by one thread.
class JobStore {
 public:
  virtual ~JobStore() = default;
  virtual std::vector<JobRecord> jobs() = 0;
  virtual std::vector<ClusterMachine> machines() = 0;  // By index; none is ever removed.
  virtual void save(const JobRecord& record) = 0;
  virtual void save(int index, const ClusterMachine& machine) = 0;
};

}  // namespace hocket
