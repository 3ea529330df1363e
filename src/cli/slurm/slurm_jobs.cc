#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <thread>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/jobs/end_of_file.h"
#include "cli/jobs/job_request.h"
#include "cli/jobs/jobs_table.h"
#include "cli/jobs/jobs_verbs.h"
#include "cli/jobs/scheduler_place.h"
#include "cli/slurm/slurm_job_folder.h"
#include "cli/slurm/slurm_script.h"
#include "cli/slurm/slurm_tool.h"
#include "cli/terminal.h"
#include "cli/units.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr Seconds kSuspendTime{10.0};
constexpr Seconds kQueueLook{0.2};
constexpr Seconds kAgain{3.0};

// The jobs of one folder, through Slurm's own programs, which ask its controller.
class SlurmJobs {
 public:
  explicit SlurmJobs(const fs::path& folder) : folder_(folder) {}

  Json job(JobId id) const {
    const auto queue = slurm_queue();
    const auto found = queue.find(id);
    return folder_.job(id, found != queue.end() ? std::optional(found->second) : find_accounted(id));
  }

  Json list(bool is_all) const {
    const auto queue = slurm_queue();
    Json jobs = Json::array();
    for (const JobId id : folder_.ids()) {
      const auto found = queue.find(id);
      const bool is_known = found != queue.end();
      if (!is_all && (!is_known || has_ended(found->second.state))) continue;
      jobs.push_back(folder_.job(id, is_known ? std::optional(found->second) : find_accounted(id)));
    }
    return {{"jobs", jobs}, {"machines", Json::array()}};
  }

  Json submit(const SlurmJob& asked, const Json& said) const {
    fs::create_directories(folder_.jobs());
    SlurmJob job = asked;
    job.jobs_folder = folder_.jobs().string();
    const std::string answer = output_of(sbatch_words(job), slurm_script(job));  // "12" or "12;cluster"
    const auto id = parse_integer(answer.substr(0, answer.find_first_of(";\n")));
    if (!id) throw Error("jobs: sbatch says {}: expected the number of a job", answer);
    folder_.add(*id, said);
    return this->job(*id);
  }

  // A running job writes a checkpoint and ends, by its script, which then has Slurm queue and hold it. The
  // signal is sent again now and then: a script that is only just being started hears nothing, and Slurm
  // refuses while a job changes.
  Json suspend(JobId id) const {
    const std::string number = std::to_string(id);
    const TimePoint deadline = after(kSuspendTime);
    std::string complaint;
    for (TimePoint signal_at{};; std::this_thread::sleep_for(kQueueLook)) {
      const Json now = job(id);
      const auto state = now.at("state").get<std::string>();
      if (state == "suspended" || state == "stopping") return now;
      if (state != "waiting" && state != "running")
        throw ConfigError("jobs: job {} is {} already", id, state);
      if (Clock::now() > deadline) {
        if (complaint.empty()) return now;  // It is still writing its checkpoint.
        throw Error("jobs: job {} is {} and cannot be suspended: {}", id, state, complaint);
      }
      if (Clock::now() < signal_at) continue;
      signal_at = after(kAgain);
      complaint = state == "waiting"
                      ? run_tool({"scontrol", "hold", number}, "", kAgain).complaint
                      : run_tool({"scancel", "--batch", "--signal=USR2", number}, "", kAgain).complaint;
    }
  }

  Json resume(JobId id) const {
    require(id, "suspended", "resumed");
    output_of({"scontrol", "release", std::to_string(id)});
    return job(id);
  }

  Json retry(JobId id) const {
    const Json now = job(id);
    if (now.at("state") != "failed" && now.at("state") != "cancelled")
      throw ConfigError("jobs: job {} is {}; only a failed or cancelled one is tried again", id,
                        now.at("state").get<std::string>());
    output_of({"scontrol", "requeue", std::to_string(id)});
    return job(id);
  }

  Json cancel(JobId id) const {
    const Json now = job(id);
    for (const char* ended : {"done", "failed", "cancelled"}) {
      if (now.at("state") == ended) throw ConfigError("jobs: job {} is {} already", id, ended);
    }
    output_of({"scancel", std::to_string(id)});
    return job(id);
  }

  Json logs(JobId id) const {
    Json shown = job(id);
    shown["log"] = end_of_file(folder_.log_of(id));
    return shown;
  }

 private:
  void require(JobId id, const char* state, const char* verb) const {
    const Json now = job(id);
    if (now.at("state") != state)
      throw ConfigError("jobs: job {} is {}; only a {} one is {}", id, now.at("state").get<std::string>(),
                        state, verb);
  }

  SlurmJobFolder folder_;
};

Json submit(const SlurmJobs& jobs, const Arguments& arguments) {
  for (const char* own : {"priority", "owner", "bytes-per-step"}) {
    if (arguments.has(own))
      throw ConfigError("jobs submit: --{} is for hocket jobs serve; Slurm has its own ways", own);
  }
  const auto [low, high] = workers_of(arguments.text("workers", "1"));
  if (low != high)
    throw ConfigError("jobs submit: --workers {}: Slurm does not resize jobs; give one number",
                      arguments.text("workers"));
  SlurmJob job;
  job.words = train_words(arguments);
  job.name = arguments.text("name", job.words.size() > 1 ? job.words[1] : job.words[0]);
  job.program = fs::read_symlink("/proc/self/exe").string();
  job.folder = fs::current_path().string();
  job.workers = high;
  if (arguments.has("memory"))
    job.memory_bytes = parse_bytes(arguments.text("memory"), "jobs submit: --memory");
  if (arguments.has("length")) job.length = seconds_of(arguments, "length", 0);
  return jobs.submit(job, {{"name", job.name},
                           {"owner", user_name()},
                           {"min_workers", low},
                           {"max_workers", high},
                           {"memory_bytes", job.memory_bytes},
                           {"length", job.length ? Json(*job.length) : Json(nullptr)},
                           {"submitted", seconds_since_1970()},
                           {"words", job.words},
                           {"folder", job.folder}});
}

struct SlurmVerb {
  std::string_view name;
  Json (SlurmJobs::*about)(JobId id) const;
};

constexpr SlurmVerb kVerbs[] = {{"show", &SlurmJobs::job},        {"logs", &SlurmJobs::logs},
                                {"suspend", &SlurmJobs::suspend}, {"resume", &SlurmJobs::resume},
                                {"retry", &SlurmJobs::retry},     {"cancel", &SlurmJobs::cancel}};

std::string text_of(const std::string& verb, const Json& answer) {
  if (verb == "list") return jobs_table(answer);
  if (verb == "logs") return answer.at("log").get<std::string>();
  if (verb == "show") return answer.dump(2) + '\n';
  if (verb == "submit") return fmt::format("job {}\n", answer.at("id").get<JobId>());
  return fmt::format("job {} is {}\n", answer.at("id").get<JobId>(), answer.at("state").get<std::string>());
}

Json answer_to(const std::string& verb, const SlurmJobs& jobs, const Arguments& arguments) {
  if (verb == "submit") return submit(jobs, arguments);
  if (verb == "list") return jobs.list(arguments.has("all"));
  for (const SlurmVerb& each : kVerbs) {
    if (each.name == verb) return (jobs.*each.about)(job_of(arguments));
  }
  throw ConfigError(
      "jobs {}: with --backend slurm there is: submit, list, show, logs, suspend, resume, retry, cancel",
      verb);
}

}  // namespace

int run_slurm_jobs(const Arguments& arguments) {
  const std::string& verb = arguments.words().front();
  const SlurmJobs jobs(place_of(arguments).folder);
  const Json answer = answer_to(verb, jobs, arguments);
  write_output(arguments.has("json") ? answer.dump(2) + '\n' : text_of(verb, answer));
  return kDone;
}

}  // namespace hocket
