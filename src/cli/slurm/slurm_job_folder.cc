#include "cli/slurm/slurm_job_folder.h"

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/arguments.h"
#include "train/file_system.h"

namespace hocket {

namespace fs = std::filesystem;
using Json = nlohmann::json;

namespace {

Json read_json(const fs::path& file) {
  std::ifstream in(file);
  Json json = Json::parse(in, nullptr, /*allow_exceptions=*/false);
  if (!json.is_object()) throw DataError("{}: expected a JSON object", file.string());
  return json;
}

}  // namespace

SlurmJobFolder::SlurmJobFolder(const fs::path& folder) : folder_(fs::absolute(folder).lexically_normal()) {
  if (fs::exists(folder_ / "queue.sqlite"))
    throw ConfigError("jobs: {} is the folder of hocket jobs serve; give the jobs of Slurm one of their own",
                      folder_.string());
}

void SlurmJobFolder::add(JobId id, const Json& said) const {
  const fs::path home = jobs() / std::to_string(id);
  fs::create_directories(home);
  const std::string text = said.dump(2, ' ', false, Json::error_handler_t::replace) + '\n';
  write_file_atomically(posix_file_system(), home / "job.json", text);
}

std::vector<JobId> SlurmJobFolder::ids() const {
  std::vector<JobId> all;
  std::error_code none;
  for (const fs::directory_entry& entry : fs::directory_iterator(jobs(), none)) {
    const auto id = parse_integer(entry.path().filename().string());
    if (id && fs::exists(entry.path() / "job.json")) all.push_back(*id);
  }
  std::sort(all.begin(), all.end());
  return all;
}

// Of a job that Slurm has forgotten: by what its run left.
SlurmState SlurmJobFolder::guessed(JobId id) const {
  SlurmState job;
  const fs::path summary = jobs() / std::to_string(id) / "run" / "summary.json";
  const bool is_done = fs::exists(summary) && read_json(summary).value("status", "") == "done";
  job.state = is_done ? JobState::done : JobState::failed;
  job.reason = is_done ? "" : "Slurm does not know it any more, and its run is not done";
  return job;
}

Json SlurmJobFolder::job(JobId id, const std::optional<SlurmState>& told) const {
  const fs::path home = jobs() / std::to_string(id);
  if (!fs::exists(home / "job.json"))
    throw ConfigError("jobs: there is no job {} in {}", id, folder_.string());
  const SlurmState state = told ? *told : guessed(id);
  Json job = read_json(home / "job.json");
  const int workers = job.at("max_workers").get<int>();
  const bool is_here = state.state == JobState::running || state.state == JobState::stopping;
  job["id"] = id;
  job["state"] = state.is_held ? "suspended" : name_of(state.state);
  job["slurm_state"] = state.word;
  job["reason"] = state.is_held || state.state == JobState::cancelled ? "" : state.reason;
  job["workers"] = is_here ? workers : 0;
  job["machine"] = is_here ? Json(state.machine) : Json(nullptr);
  job["worker_seconds"] = state.seconds * workers;
  const bool was_started = is_here || (has_ended(state.state) && state.seconds > 0) || !told;
  job["attempts"] = state.restarts + (was_started ? 1 : 0);
  job["run"] = (home / "run").string();
  return job;
}

}  // namespace hocket
