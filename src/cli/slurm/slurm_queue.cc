#include "cli/slurm/slurm_queue.h"

#include <vector>

#include "base/error.h"
#include "cli/arguments.h"
#include "cli/slurm/slurm_tool.h"

namespace hocket {
namespace {

std::vector<std::string_view> parts_of(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

// "1-02:03:04", "02:03:04", "3:04"; 0 for what is no time, as INVALID.
double seconds_of_time(std::string_view text) {
  double days = 0;
  if (const std::size_t dash = text.find('-'); dash != std::string_view::npos) {
    days = parse_real(text.substr(0, dash)).value_or(0);
    text.remove_prefix(dash + 1);
  }
  double seconds = 0;
  for (const std::string_view part : parts_of(text, ':'))
    seconds = 60 * seconds + parse_real(part).value_or(0);
  return 86400 * days + seconds;
}

}  // namespace

JobState state_of(std::string_view word) {
  if (word == "RUNNING" || word == "SUSPENDED" || word == "RESIZING") return JobState::running;
  if (word == "COMPLETING" || word == "STAGE_OUT" || word == "SIGNALING" || word == "STOPPED")
    return JobState::stopping;
  if (word == "COMPLETED") return JobState::done;
  if (word.starts_with("CANCELLED")) return JobState::cancelled;  // sacct: "CANCELLED by 1000".
  for (const char* waits : {"PENDING", "CONFIGURING", "REQUEUED", "REQUEUE_FED", "REQUEUE_HOLD",
                            "RESV_DEL_HOLD", "SPECIAL_EXIT"}) {
    if (word == waits) return JobState::waiting;
  }
  return JobState::failed;
}

std::map<JobId, SlurmState> parse_squeue(std::string_view text) {
  std::map<JobId, SlurmState> jobs;
  for (const std::string_view line : parts_of(text, '\n')) {
    if (line.empty()) continue;
    const auto fields = parts_of(line, '|');
    if (fields.size() < 7) throw DataError("jobs: squeue says {}: expected seven fields", line);
    const auto id = parse_integer(fields[0]);
    if (!id) continue;
    SlurmState job;
    job.word = fields[1];
    job.state = state_of(job.word);
    job.reason = fields[2] == "None" ? "" : fields[2];
    job.is_held = job.state == JobState::waiting && fields[6] == "0";  // Held jobs have no priority.
    job.machine = fields[3];
    job.seconds = seconds_of_time(fields[4]);
    job.restarts = static_cast<int>(parse_integer(fields[5]).value_or(0));
    jobs[*id] = std::move(job);
  }
  return jobs;
}

std::map<JobId, SlurmState> slurm_queue() {
  return parse_squeue(output_of({"squeue", "--noheader", "--me", "--states=all", kSqueueFields}));
}

std::optional<SlurmState> find_accounted(JobId id) {
  const ToolResult told = run_tool({"sacct", "--noheader", "--allocations", "--parsable2", "--format=State",
                                    "--jobs", std::to_string(id)});
  const std::string word = told.out.substr(0, told.out.find('\n'));
  if (told.exit_code != 0 || word.empty()) return std::nullopt;
  SlurmState job;
  job.word = word;
  job.state = state_of(word);
  return job;
}

}  // namespace hocket
