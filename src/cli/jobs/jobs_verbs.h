#pragma once

#include <vector>

#include "cli/command.h"

// The verbs of `hocket jobs`. Each returns an ExitCode and throws Error; its options stand in the command's
// help.
namespace hocket {

int run_jobs_serve(const Arguments& arguments);
int run_jobs_agent(const Arguments& arguments);
std::vector<Option> jobs_serve_options();  // And those of agent.

int run_jobs_submit(const Arguments& arguments);
int run_jobs_list(const Arguments& arguments);
int run_jobs_show(const Arguments& arguments);
int run_jobs_logs(const Arguments& arguments);
int run_jobs_change(const Arguments& arguments);  // cancel and retry
int run_jobs_release(const Arguments& arguments);
std::vector<Option> jobs_client_options();

// --backend slurm: submit, list, show, logs, suspend, resume, retry and cancel through Slurm's own programs.
int run_slurm_jobs(const Arguments& arguments);

int run_jobs_simulate(const Arguments& arguments);
std::vector<Option> jobs_simulate_options();

// The value of an option that is a time, as in 10m. Throws ConfigError.
double seconds_of(const Arguments& arguments, std::string_view flag, double fallback);
double parse_seconds(const std::string& text, std::string_view flag);

}  // namespace hocket
