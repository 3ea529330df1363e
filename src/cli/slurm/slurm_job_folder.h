#pragma once

#include <filesystem>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

#include "cli/slurm/slurm_queue.h"

namespace hocket {

// What hocket itself keeps of the jobs that it has handed to Slurm: `folder`/jobs has NUMBER/job.json,
// NUMBER/run and NUMBER.log of each.
class SlurmJobFolder {
 public:
  explicit SlurmJobFolder(
      const std::filesystem::path& folder);  // Throws ConfigError for that of a scheduler.

  std::filesystem::path jobs() const { return folder_ / "jobs"; }
  std::filesystem::path log_of(JobId id) const { return jobs() / (std::to_string(id) + ".log"); }

  void add(JobId id, const nlohmann::json& said) const;  // As submit said it.
  std::vector<JobId> ids() const;                        // In order.
  // All that is known, in the fields of hocket jobs show --json. Throws ConfigError when it is not here.
  nlohmann::json job(JobId id, const std::optional<SlurmState>& told) const;

 private:
  SlurmState guessed(JobId id) const;

  std::filesystem::path folder_;
};

}  // namespace hocket
