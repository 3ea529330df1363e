#include "jobs/cluster_job.h"

#include <algorithm>
#include <array>
#include <limits>

namespace hocket {
namespace {

constexpr std::array kStateNames = {"waiting", "running", "stopping", "done", "failed", "cancelled"};

}  // namespace

const char* name_of(JobState state) { return kStateNames[static_cast<std::size_t>(state)]; }

std::optional<JobState> find_job_state(const std::string& name) {
  const auto* found = std::find(kStateNames.begin(), kStateNames.end(), name);
  if (found == kStateNames.end()) return std::nullopt;
  return static_cast<JobState>(found - kStateNames.begin());
}

int workers_of(const Allocation& allocation) {
  int workers = 0;
  for (const JobShare& share : allocation) workers += share.workers;
  return workers;
}

double ClusterJob::attained_at(double now) const {
  return allocation.empty() ? attained : attained + (now - started) * workers();
}

double ClusterJob::left_at(double now) const {
  if (!length) return std::numeric_limits<double>::infinity();
  const double since = allocation.empty() ? 0 : (now - started) * workers() / max_workers;
  return std::max(0.0, *length - served - since);
}

double ClusterJob::end_if_undisturbed(double now) const {
  return now + left_at(now) * max_workers / std::max(1, allocation.empty() ? max_workers : workers());
}

}  // namespace hocket
