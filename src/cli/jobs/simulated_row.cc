#include "cli/jobs/simulated_row.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <nlohmann/json.hpp>

#include "cli/units.h"

namespace hocket {
namespace {

using Json = nlohmann::json;
using Points = std::vector<std::pair<double, double>>;

constexpr int kPoints = 200;

Points completions_of(const JobSimulation& simulation) {
  std::vector<double> sorted;
  for (const JobOutcome& outcome : simulation.outcomes) sorted.push_back(std::max(1.0, outcome.completion()));
  std::sort(sorted.begin(), sorted.end());
  Points points;
  for (int i = 0; i <= kPoints; ++i) {
    const double share = static_cast<double>(i) / kPoints;
    points.emplace_back(percentile_of(sorted, share), share);
  }
  return points;
}

// Means over equal stretches of time.
template <typename Value>
Points over_time(const JobSimulation& simulation, Value value) {
  const double stretch = simulation.end / kPoints;
  std::vector<double> sums(kPoints, 0.0);
  for (std::size_t i = 0; i + 1 < simulation.loads.size() && stretch > 0; ++i) {
    double from = simulation.loads[i].time;
    const double until = simulation.loads[i + 1].time;
    for (auto at = static_cast<std::size_t>(from / stretch); from < until && at < sums.size(); ++at) {
      const double end = std::min(until, static_cast<double>(at + 1) * stretch);
      sums[at] += std::max(0.0, end - from) * value(simulation.loads[i]);
      from = std::max(from, end);
    }
  }
  Points points;
  for (std::size_t i = 0; i < sums.size() && stretch > 0; ++i)
    points.emplace_back((static_cast<double>(i) + 0.5) * stretch / 86400, sums[i] / stretch);
  return points;
}

struct Column {
  const char* title;
  std::string (*cell)(const SimulatedRow& row);
};

std::string hours(double seconds) { return fmt::format("{:.2f} h", seconds / 3600); }

const std::vector<Column>& columns() {
  static const std::vector<Column> all{
      {"policy", [](const SimulatedRow& row) { return row.name; }},
      {"completion", [](const SimulatedRow& row) { return hours(row.figures.mean_completion); }},
      {"median", [](const SimulatedRow& row) { return hours(row.figures.median_completion); }},
      {"p90", [](const SimulatedRow& row) { return hours(row.figures.p90_completion); }},
      {"p99", [](const SimulatedRow& row) { return hours(row.figures.p99_completion); }},
      {"queueing", [](const SimulatedRow& row) { return hours(row.figures.mean_queueing); }},
      {"first start", [](const SimulatedRow& row) { return hours(row.figures.mean_response); }},
      {"slots held", [](const SimulatedRow& row) { return percent_text(row.figures.utilisation); }},
      {"useful", [](const SimulatedRow& row) { return percent_text(row.figures.useful_share); }},
      {"fairness", [](const SimulatedRow& row) { return fmt::format("{:.3f}", row.figures.fairness); }},
      {"preemptions", [](const SimulatedRow& row) { return count_text(row.figures.preemptions); }},
      {"racks/gang",
       [](const SimulatedRow& row) { return fmt::format("{:.2f}", row.figures.racks_per_gang); }},
      {"CPU time", [](const SimulatedRow& row) { return fmt::format("{:.2f} s", row.took); }}};
  return all;
}

Json figures_json(const SimulatedRow& row) {
  const JobFigures& figures = row.figures;
  return {{"name", row.name},
          {"policy", row.policy},
          {"slot", row.slot},
          {"mean_completion", figures.mean_completion},
          {"median_completion", figures.median_completion},
          {"p90_completion", figures.p90_completion},
          {"p99_completion", figures.p99_completion},
          {"mean_queueing", figures.mean_queueing},
          {"p99_queueing", figures.p99_queueing},
          {"mean_response", figures.mean_response},
          {"mean_slowdown", figures.mean_slowdown},
          {"utilisation", figures.utilisation},
          {"useful_share", figures.useful_share},
          {"fairness", figures.fairness},
          {"makespan", figures.makespan},
          {"preemptions", figures.preemptions},
          {"resizes", figures.resizes},
          {"shared_starts", figures.shared_starts},
          {"racks_per_gang", figures.racks_per_gang},
          {"replay_cpu_seconds", row.took}};
}

}  // namespace

SimulatedRow simulate_row(const JobTrace& trace, const Policy& policy, const JobSimulationOptions& options,
                          const std::string& slot_text) {
  const std::clock_t before = std::clock();
  const JobSimulation simulation = simulate_jobs(trace, policy, options);
  SimulatedRow row;
  row.took = static_cast<double>(std::clock() - before) / CLOCKS_PER_SEC;
  row.policy = policy.name;
  row.name = slot_text.empty() ? row.policy : fmt::format("{} {}", row.policy, slot_text);
  row.slot = options.policy.slot;
  row.figures = figures_of(trace, simulation, options.machines);
  row.completions = completions_of(simulation);
  int slots = 0;
  for (const ClusterMachine& machine : options.machines) slots += machine.slots;
  row.busy =
      over_time(simulation, [&](const ClusterLoad& load) { return static_cast<double>(load.busy) / slots; });
  row.waiting =
      over_time(simulation, [](const ClusterLoad& load) { return static_cast<double>(load.waiting); });
  return row;
}

std::string rows_as_table(const std::vector<SimulatedRow>& rows) {
  std::string text;
  for (const Column& column : columns()) text += fmt::format("{:>12}", column.title);
  text += '\n';
  for (const SimulatedRow& row : rows) {
    for (const Column& column : columns()) text += fmt::format("{:>12}", column.cell(row));
    text += '\n';
  }
  return text;
}

std::string rows_as_json(const std::vector<SimulatedRow>& rows) {
  Json json = Json::array();
  for (const SimulatedRow& row : rows) json.push_back(figures_json(row));
  return json.dump(2) + '\n';
}

SchedulePage page_of(const std::vector<SimulatedRow>& rows) {
  SchedulePage page;
  for (const Column& column : columns()) page.columns.emplace_back(column.title);
  Json json = Json::array();
  for (const SimulatedRow& row : rows) {
    std::vector<std::string> cells;
    for (const Column& column : columns()) cells.push_back(column.cell(row));
    page.rows.push_back(std::move(cells));
    Json each = figures_json(row);
    each["completions"] = row.completions;
    each["busy"] = row.busy;
    each["waiting"] = row.waiting;
    json.push_back(std::move(each));
    page.has_sweep = page.has_sweep || row.name != row.policy;
  }
  page.data = Json{{"rows", json}}.dump();
  return page;
}

}  // namespace hocket
