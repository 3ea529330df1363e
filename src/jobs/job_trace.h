#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "jobs/cluster_job.h"

namespace hocket {

// Jobs by the time they were submitted, counted from the first; `length` is known of all.
using JobTrace = std::vector<ClusterJob>;

// Reads a CSV file whose header names its columns: timestamp (a date and time, or seconds), duration
// (seconds) and num_gpus; where they are there, gpu_time (duration × num_gpus), cluster (the owner), min_gpus
// (elastic from there on), memory, bytes_per_step, priority and name. Other columns are left alone. Throws
// DataError with line and column of what is wrong.
JobTrace read_job_trace(const std::filesystem::path& file);
JobTrace parse_job_trace(std::string_view text, std::string_view name);

struct GeneratedTrace {
  int jobs = 1000;
  double load = 0.8;  // Demand as a share of `slots`.
  int slots = 64;
  int owners = 5;
  double elastic = 0;  // Share of the gangs that are elastic.
  std::uint64_t seed = 0;
};

// Shaped like real ones: most jobs small and short, a few long ones with most of the work; Poisson arrivals.
// Lengths and times are whole seconds.
JobTrace generate_job_trace(const GeneratedTrace& options);

}  // namespace hocket
