#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "base/rng.h"
#include "jobs/job_trace.h"

namespace hocket {
namespace {

// Half of the jobs within 20 minutes, one in ten over 3 hours, one in a hundred for days: log-normal.
double length_of(Rng& rng) {
  const double normal = std::sqrt(-2 * std::log(1 - rng.uniform())) * std::cos(2 * M_PI * rng.uniform());
  return std::clamp(std::round(1200 * std::exp(1.9 * normal)), 10.0, 14.0 * 86400);
}

int workers_of_job(Rng& rng, int slots) {
  const double u = rng.uniform();
  int workers = 1;
  if (u > 0.75) workers = 2;
  if (u > 0.85) workers = 4;
  if (u > 0.94) workers = 8;
  if (u > 0.99) workers = 16;
  return std::min(workers, slots);
}

}  // namespace

JobTrace generate_job_trace(const GeneratedTrace& options) {
  HOCKET_CHECK(options.jobs > 0 && options.slots > 0 && options.owners > 0 && options.load > 0);
  JobTrace trace;
  double work = 0;
  for (int i = 0; i < options.jobs; ++i) {
    Rng rng{options.seed, static_cast<std::uint64_t>(i)};
    ClusterJob job;
    job.id = i;
    job.length = length_of(rng);
    job.max_workers = job.min_workers = workers_of_job(rng, options.slots);
    job.owner = fmt::format("owner-{}", rng.below(static_cast<std::uint64_t>(options.owners)));
    job.bytes_per_step = job.max_workers > 1 ? 1 : 0;
    if (job.max_workers > 1 && rng.uniform() < options.elastic) job.min_workers = 1;
    work += *job.length * job.max_workers;
    trace.push_back(job);
  }
  const double span = work / (options.load * options.slots);
  Rng rng{options.seed, 0x617272ULL};
  for (ClusterJob& job : trace) job.submitted = std::round(rng.uniform() * span);
  std::stable_sort(trace.begin(), trace.end(),
                   [](const ClusterJob& a, const ClusterJob& b) { return a.submitted < b.submitted; });
  for (std::size_t i = trace.size(); i-- > 0;) {
    trace[i].submitted -= trace.front().submitted;
    trace[i].id = static_cast<JobId>(i);
  }
  return trace;
}

}  // namespace hocket
