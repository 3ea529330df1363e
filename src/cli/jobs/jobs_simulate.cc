#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "base/quantity.h"
#include "cli/bench/lists.h"
#include "cli/exit_code.h"
#include "cli/jobs/jobs_verbs.h"
#include "cli/jobs/simulated_row.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "report/schedule_page.h"
#include "train/file_system.h"

namespace hocket {
namespace {

// "80x8": machines of so many slots each.
std::vector<ClusterMachine> machines_of(const Arguments& arguments) {
  const std::string text = arguments.text("machines", "80x8");
  const std::size_t cross = text.find('x');
  const auto count = parse_integer(text.substr(0, cross));
  const auto slots =
      cross == std::string::npos ? std::optional<std::int64_t>(1) : parse_integer(text.substr(cross + 1));
  if (!count || !slots || *count < 1 || *slots < 1 || *count > 100'000 || *slots > 1024)
    throw ConfigError("jobs simulate: --machines {}: expected MACHINESxSLOTS, as in 80x8", text);
  const std::int64_t in_rack = arguments.integer("rack", 16, 1, 100'000);
  const std::int64_t memory = arguments.has("machine-memory") ? parse_bytes(arguments.text("machine-memory"),
                                                                            "jobs simulate: --machine-memory")
                                                              : 0;
  std::vector<ClusterMachine> machines;
  for (std::int64_t i = 0; i < *count; ++i) {
    machines.push_back(
        {fmt::format("m{}", i), static_cast<int>(*slots), memory, static_cast<int>(i / in_rack), true});
  }
  return machines;
}

JobTrace trace_of(const Arguments& arguments, const std::vector<ClusterMachine>& machines) {
  if (arguments.has("trace")) return read_job_trace(arguments.text("trace"));
  GeneratedTrace options;
  options.jobs = static_cast<int>(arguments.integer("jobs", 2000, 1, 10'000'000));
  options.load = arguments.real("load", 0.9, 0.01, 1000);
  options.elastic = arguments.real("elastic", 0, 0, 1);
  options.seed = static_cast<std::uint64_t>(arguments.integer("seed", 0, 0, 1LL << 53));
  options.slots = 0;
  for (const ClusterMachine& machine : machines) options.slots += machine.slots;
  return generate_job_trace(options);
}

std::vector<const Policy*> policies_of(const Arguments& arguments) {
  std::vector<const Policy*> policies;
  const std::string list = arguments.text("policy", "all");
  if (list == "all") {
    for (const Policy& policy : all_policies()) policies.push_back(&policy);
  } else {
    for (const std::string& name : split_list(list)) policies.push_back(&find_policy(name));
  }
  return policies;
}

bool uses_slots(const Policy& policy) {
  const std::string name = policy.name;
  return name == "slots" || name == "las" || name == "fair";
}

JobSimulationOptions options_of(const Arguments& arguments) {
  JobSimulationOptions options;
  options.machines = machines_of(arguments);
  options.switch_cost = seconds_of(arguments, "switch-cost", 30);
  options.policy.patience = seconds_of(arguments, "patience", options.policy.patience);
  return options;
}

std::string subtitle_of(const Arguments& arguments, const JobTrace& trace,
                        const JobSimulationOptions& options) {
  int slots = 0;
  for (const ClusterMachine& machine : options.machines) slots += machine.slots;
  return fmt::format("{} jobs of {} on {} machines with {} slots; a switch costs {}",
                     count_text(static_cast<std::int64_t>(trace.size())),
                     arguments.text("trace", "the generator"), options.machines.size(), slots,
                     seconds_text(options.switch_cost));
}

}  // namespace

int run_jobs_simulate(const Arguments& arguments) {
  JobSimulationOptions options = options_of(arguments);
  const JobTrace trace = trace_of(arguments, options.machines);
  std::vector<SimulatedRow> rows;
  for (const Policy* policy : policies_of(arguments)) {
    std::vector<std::string> slots = split_list(arguments.text("slot", "10m"));
    if (!uses_slots(*policy)) slots.resize(1);
    for (const std::string& slot : slots) {
      options.policy.slot = parse_seconds(slot, "slot");
      if (uses_slots(*policy) && options.policy.slot <= options.switch_cost)
        throw ConfigError("jobs simulate: --slot {}: in slots not longer than a switch ({}) nothing is done",
                          slot, seconds_text(options.switch_cost));
      rows.push_back(simulate_row(trace, *policy, options, slots.size() > 1 ? slot : ""));
    }
  }
  if (arguments.has("html")) {
    SchedulePage page = page_of(rows);
    page.title = fmt::format("{} ways to schedule {} jobs", rows.size(),
                             count_text(static_cast<std::int64_t>(trace.size())));
    page.subtitle = subtitle_of(arguments, trace, options);
    write_file_atomically(posix_file_system(), arguments.text("html"), render_schedule_page(page));
  }
  write_output(arguments.has("json") ? rows_as_json(rows)
                                     : subtitle_of(arguments, trace, options) + "\n\n" + rows_as_table(rows));
  return kDone;
}

std::vector<Option> jobs_simulate_options() {
  const std::string group = "simulate";
  return {
      {"trace", "FILE", "CSV with timestamp,duration,num_gpus[,gpu_time,cluster,...] (generated)", group},
      {"jobs", "N", "generated jobs (2000)", group},
      {"load", "SHARE", "what the generated jobs ask for, as a share of the cluster (0.9)", group},
      {"elastic", "SHARE", "of the generated gangs that are elastic (0)", group},
      {"seed", "N", "of the generator (0)", group},
      {"machines", "MxS", "machines and slots of each (80x8)", group},
      {"switch-cost", "TIME", "from the start of a suspended job until it makes progress (30s)", group},
      {"html", "FILE", "write a page with plots", group},
  };
}

}  // namespace hocket
