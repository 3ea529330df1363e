#include "base/error.h"
#include "base/nearest.h"
#include "base/quantity.h"
#include "cli/commands.h"
#include "cli/jobs/jobs_verbs.h"

namespace hocket {
namespace {

struct Verb {
  std::string_view name;
  int (*run)(const Arguments& arguments);
};

int refuse_suspend(const Arguments& arguments) {
  throw ConfigError(
      "jobs {}: the policy of hocket jobs serve does that; by hand it goes with --backend slurm",
      arguments.words().front());
}

constexpr Verb kVerbs[] = {
    {"serve", run_jobs_serve},   {"agent", run_jobs_agent},  {"submit", run_jobs_submit},
    {"list", run_jobs_list},     {"show", run_jobs_show},    {"cancel", run_jobs_change},
    {"retry", run_jobs_change},  {"logs", run_jobs_logs},    {"release", run_jobs_release},
    {"suspend", refuse_suspend}, {"resume", refuse_suspend}, {"simulate", run_jobs_simulate},
};

std::string all_verbs() {
  std::string text;
  for (const Verb& verb : kVerbs) text += fmt::format("{}{}", text.empty() ? "" : ", ", verb.name);
  return text;
}

int run_jobs(const Arguments& arguments) {
  if (arguments.words().empty()) throw ConfigError("jobs: what? There is: {}", all_verbs());
  const std::string& wanted = arguments.words().front();
  const std::string backend = arguments.text("backend", "hocket");
  if (backend == "slurm") return run_slurm_jobs(arguments);
  if (backend != "hocket") throw ConfigError("jobs: --backend {}: there is hocket and slurm", backend);
  std::vector<std::string_view> names;
  for (const Verb& verb : kVerbs) {
    if (verb.name == wanted) return verb.run(arguments);
    names.push_back(verb.name);
  }
  const std::string hint = did_you_mean(wanted, names);
  throw ConfigError("jobs: there is no {}{}", wanted, hint.empty() ? "; there is: " + all_verbs() : hint);
}

}  // namespace

double parse_seconds(const std::string& text, std::string_view flag) {
  const auto seconds = find_seconds(text);
  if (!seconds || *seconds <= 0)
    throw ConfigError("jobs: --{} {}: expected a time above 0, as in 30s, 10m or 1h", flag, text);
  return *seconds;
}

double seconds_of(const Arguments& arguments, std::string_view flag, double fallback) {
  if (!arguments.has(flag)) return fallback;
  if (arguments.text(flag) == "0") return 0;
  return parse_seconds(arguments.text(flag), flag);
}

Command jobs_command() {
  Command command;
  command.name = "jobs";
  command.summary = "share machines between many training jobs, or replay a trace of jobs";
  command.usages = {"serve --dir DIR [options]",
                    "agent --dir DIR [options]",
                    "submit --dir DIR [options] -- OPTIONS OF TRAIN",
                    "list --dir DIR [--all]",
                    "show|cancel|retry|logs JOB --dir DIR",
                    "suspend|resume JOB --dir DIR --backend slurm",
                    "release MACHINE --dir DIR",
                    "simulate [options]"};
  command.options = {
      {"dir", "DIR", "the scheduler's folder, which all its machines see: key, queue, runs and logs"},
      {"backend", "NAME", "who schedules: hocket, or slurm where a site has it (hocket)"},
      {"server", "ADDRESS:PORT", "where the scheduler listens (as the folder says)"},
      {"policy", "NAME", "fifo, sjf, fair, slots, las or pack (fifo); simulate: a list (all)"},
      {"slot", "TIME", "length of a time slot; simulate: a list, as in 1m,10m,1h (10m)"},
      {"patience", "TIME", "whoever has waited longer goes first (3d)"},
  };
  for (auto* more : {jobs_client_options, jobs_serve_options, jobs_simulate_options}) {
    for (Option& option : more()) command.options.push_back(std::move(option));
  }
  for (Option& option : output_options()) {
    if (option.flag != "quiet") command.options.push_back(std::move(option));
  }
  command.examples = {"hocket jobs submit --dir /shared/jobs --workers 1:4 -- --model lenet --epochs 5",
                      "hocket jobs simulate --policy fifo,sjf,las --machines 16x4 --html jobs.html"};
  command.max_words = 2;
  command.takes_program = true;
  command.run = run_jobs;
  return command;
}

}  // namespace hocket
