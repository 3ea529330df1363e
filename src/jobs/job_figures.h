#pragma once

#include "jobs/simulate_jobs.h"

namespace hocket {

// What a simulation came to. Times in seconds.
struct JobFigures {
  double mean_completion = 0, median_completion = 0, p90_completion = 0, p99_completion = 0;
  double mean_queueing = 0, p99_queueing = 0;  // Completion less what the job took at full speed.
  double mean_response = 0;                    // From submission to the first start.
  double mean_slowdown = 0;                    // Completion over length, of at least 10 s each.
  double utilisation = 0;                      // Slots that were held, until the last submission.
  double useful_share = 0;                     // Of slot seconds held: those that made progress.
  double fairness = 0;                         // Jain's index of the owners' mean length / completion.
  double makespan = 0;
  int preemptions = 0, resizes = 0, shared_starts = 0;
  double racks_per_gang = 0;
};

JobFigures figures_of(const JobTrace& trace, const JobSimulation& simulation,
                      const std::vector<ClusterMachine>& machines);

// The value at `share` (0 to 1) of sorted values, between neighbours by linear interpolation.
double percentile_of(const std::vector<double>& sorted, double share);

}  // namespace hocket
