#include "cli/slurm/slurm_script.h"

#include <fmt/format.h>

#include <cmath>

#include "base/error.h"

namespace hocket {
namespace {

// The time that a site's nodes need to start and end a job, on top of its length.
constexpr double kMarginMinutes = 3;

constexpr const char* kScript = R"(#!/bin/bash
next= child=
ask_to_end() {{ [[ $next ]] || [[ -z $child ]] || kill -TERM "$child"; next=$1; }}
trap : TERM
trap 'ask_to_end requeue' USR1
trap 'ask_to_end requeuehold' USR2
home={jobs}/$SLURM_JOB_ID
mkdir -p "$home" && cd {folder} || exit 2
echo "[start $((${{SLURM_RESTART_COUNT:-0}} + 1)) with {workers} workers on $SLURMD_NODENAME]"
unset SLURM_PROCID  # The ranks are hocket's to start.
code=143
if [[ -z $next ]]; then
  {command} --resume --out "$home/run" --workers {workers} &
  child=$!
  [[ $next ]] && kill -TERM "$child"
  until wait "$child"; ! kill -0 "$child" 2>/dev/null; do :; done
  wait "$child"
  code=$?
fi
if [[ $next && $code -ne 0 ]]; then scontrol "$next" "$SLURM_JOB_ID"; fi
exit "$code"
)";

}  // namespace

std::string shell_quoted(std::string_view word) {
  std::string quoted = "'";
  for (const char c : word) {
    if (c == '\'') {
      quoted += "'\\''";
    } else {
      quoted += c;
    }
  }
  return quoted + '\'';
}

std::string slurm_script(const SlurmJob& job) {
  std::string command = shell_quoted(job.program) + " train";
  for (const std::string& word : job.words) command += ' ' + shell_quoted(word);
  return fmt::format(kScript, fmt::arg("jobs", shell_quoted(job.jobs_folder)),
                     fmt::arg("folder", shell_quoted(job.folder)), fmt::arg("workers", job.workers),
                     fmt::arg("command", command));
}

std::vector<std::string> sbatch_words(const SlurmJob& job) {
  if (job.jobs_folder.find_first_of("%\\\n") != std::string::npos)
    throw ConfigError("jobs submit: {}: Slurm cannot write to a folder whose name has % or \\",
                      job.jobs_folder);
  std::vector<std::string> words{"sbatch",
                                 "--parsable",
                                 "--requeue",
                                 "--open-mode=append",
                                 "--nodes=1",
                                 "--ntasks=1",
                                 "--job-name=" + job.name,
                                 "--chdir=/",
                                 fmt::format("--output={}/%j.log", job.jobs_folder),
                                 fmt::format("--cpus-per-task={}", job.workers),
                                 "--signal=B:USR1@60"};
  if (job.memory_bytes > 0)
    words.push_back(fmt::format("--mem={}K", (job.memory_bytes * job.workers + 1023) / 1024));
  if (job.length) words.push_back(fmt::format("--time={:.0f}", std::ceil(*job.length / 60) + kMarginMinutes));
  return words;
}

}  // namespace hocket
