#include "jobs/job_figures.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace hocket {
namespace {

constexpr double kShortest = 10;  // Slowdowns of shorter jobs would drown all others.

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double utilisation_of(const JobSimulation& simulation, double until, int slots) {
  double held = 0;
  for (std::size_t i = 0; i + 1 < simulation.loads.size() && simulation.loads[i].time < until; ++i) {
    const ClusterLoad& load = simulation.loads[i];
    held += load.busy * (std::min(until, simulation.loads[i + 1].time) - load.time);
  }
  return until > 0 ? held / (until * slots) : 1;
}

// (Σx)² / (n Σx²): 1 when all owners fare alike, 1/n when one has everything.
double fairness_of(const JobTrace& trace, const JobSimulation& simulation) {
  std::map<std::string_view, std::pair<double, int>> owners;
  for (std::size_t i = 0; i < trace.size(); ++i) {
    auto& [sum, count] = owners[trace[i].owner];
    const JobOutcome& outcome = simulation.outcomes[i];
    sum += std::max(kShortest, outcome.length) / std::max(kShortest, outcome.completion());
    ++count;
  }
  double sum = 0, squares = 0;
  for (const auto& [name, owner] : owners) {
    const double mean = owner.first / owner.second;
    sum += mean;
    squares += mean * mean;
  }
  return sum * sum / (static_cast<double>(owners.size()) * squares);
}

}  // namespace

double percentile_of(const std::vector<double>& sorted, double share) {
  const double at = share * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

JobFigures figures_of(const JobTrace& trace, const JobSimulation& simulation,
                      const std::vector<ClusterMachine>& machines) {
  std::vector<double> completions, queueings, responses, slowdowns;
  for (const JobOutcome& outcome : simulation.outcomes) {
    completions.push_back(outcome.completion());
    queueings.push_back(outcome.completion() - outcome.length);
    responses.push_back(outcome.first_start - outcome.submitted);
    slowdowns.push_back(std::max(kShortest, outcome.completion()) / std::max(kShortest, outcome.length));
  }
  JobFigures figures;
  figures.mean_completion = mean_of(completions);
  figures.mean_queueing = mean_of(queueings);
  figures.mean_response = mean_of(responses);
  figures.mean_slowdown = mean_of(slowdowns);
  std::sort(completions.begin(), completions.end());
  std::sort(queueings.begin(), queueings.end());
  figures.median_completion = percentile_of(completions, 0.5);
  figures.p90_completion = percentile_of(completions, 0.9);
  figures.p99_completion = percentile_of(completions, 0.99);
  figures.p99_queueing = percentile_of(queueings, 0.99);
  int slots = 0;
  for (const ClusterMachine& machine : machines) slots += machine.slots;
  figures.utilisation = utilisation_of(simulation, trace.back().submitted, slots);
  figures.useful_share =
      simulation.held_seconds > 0 ? simulation.useful_seconds / simulation.held_seconds : 1;
  figures.fairness = fairness_of(trace, simulation);
  figures.makespan = simulation.end;
  figures.preemptions = simulation.preemptions;
  figures.resizes = simulation.resizes;
  figures.shared_starts = simulation.shared_starts;
  figures.racks_per_gang = simulation.racks_per_gang;
  return figures;
}

}  // namespace hocket
