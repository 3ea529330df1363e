#pragma once

#include <string>
#include <vector>

#include "jobs/job_figures.h"
#include "report/schedule_page.h"

namespace hocket {

// One policy with one slot length on a trace.
struct SimulatedRow {
  std::string policy;
  std::string name;  // With its slot length where there are several.
  double slot = 0;
  double took = 0;  // Seconds of CPU time.
  JobFigures figures;
  std::vector<std::pair<double, double>> completions;  // Seconds, and the share of jobs within them.
  std::vector<std::pair<double, double>> busy;         // Days, and the share of slots held.
  std::vector<std::pair<double, double>> waiting;      // Days, and jobs.
};

SimulatedRow simulate_row(const JobTrace& trace, const Policy& policy, const JobSimulationOptions& options,
                          const std::string& slot_text);

std::string rows_as_table(const std::vector<SimulatedRow>& rows);
std::string rows_as_json(const std::vector<SimulatedRow>& rows);
SchedulePage page_of(const std::vector<SimulatedRow>& rows);

}  // namespace hocket
