#include "cli/jobs/client_requests.h"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/jobs/end_of_file.h"
#include "cli/jobs/scheduler_place.h"

namespace hocket {
namespace {

using Json = nlohmann::json;

constexpr int kMostAttempts = 2000;

Json job_json(const JobCoordinator& coordinator, const JobRecord& record) {
  const ClusterJob& job = record.job;
  const double now = record.is_active() ? seconds_since_1970() : record.ended;
  Json json = {{"id", job.id},
               {"name", job.name},
               {"owner", job.owner},
               {"state", name_of(job.state)},
               {"min_workers", job.min_workers},
               {"max_workers", job.max_workers},
               {"workers", job.workers()},
               {"memory_bytes", job.memory_bytes},
               {"priority", job.priority},
               {"submitted", job.submitted},
               {"worker_seconds", job.attained_at(now)},
               {"attempts", record.attempt},
               {"restarts", record.restarts},
               {"reason", record.reason},
               {"words", record.words},
               {"folder", record.folder}};
  json["samples_per_second_alone"] = record.rate_alone ? Json(*record.rate_alone) : Json(nullptr);
  json["pace"] = job.pace ? Json(*job.pace) : Json(nullptr);
  json["length"] = job.length ? Json(*job.length) : Json(nullptr);
  json["ended"] = record.is_active() ? Json(nullptr) : Json(record.ended);
  json["machine"] = nullptr;
  if (!job.allocation.empty()) {
    const auto& machine = coordinator.machines()[static_cast<std::size_t>(job.allocation.front().machine)];
    json["machine"] = machine.name;
    for (const JobShare& share : job.allocation)
      json["machines"].push_back(coordinator.machines()[static_cast<std::size_t>(share.machine)].name);
    json["machine_is_here"] = machine.is_present;
  }
  return json;
}

Json attempts_json(SqliteJobStore& store, double since) {
  Json attempts = Json::array();
  for (const AttemptSpan& span : store.attempts(since, kMostAttempts)) {
    attempts.push_back({{"job", span.job},
                        {"attempt", span.attempt},
                        {"machine", span.machine},
                        {"workers", span.workers},
                        {"started", span.started},
                        {"ended", span.ended ? Json(*span.ended) : Json(nullptr)}});
  }
  return attempts;
}

Json list(const JobCoordinator& coordinator, SqliteJobStore& store, const Json& request) {
  const bool is_all = request.at("all").get<bool>();
  const double since = request.value("since", std::numeric_limits<double>::infinity());
  Json jobs = Json::array();
  for (const auto& [id, record] : coordinator.records()) {
    if (is_all || record.is_active() || record.ended > since) jobs.push_back(job_json(coordinator, record));
  }
  Json machines = Json::array();
  for (const ClusterMachine& machine : coordinator.machines()) {
    machines.push_back({{"name", machine.name},
                        {"slots", machine.slots},
                        {"memory_bytes", machine.memory_bytes},
                        {"rack", machine.rack},
                        {"is_here", machine.is_present}});
  }
  Json answer = {{"jobs", jobs}, {"machines", machines}};
  if (request.contains("since")) answer["attempts"] = attempts_json(store, since);
  return answer;
}

Json submit(JobCoordinator& coordinator, const Json& request) {
  JobRecord record;
  ClusterJob& job = record.job;
  request.at("name").get_to(job.name);
  request.at("owner").get_to(job.owner);
  request.at("min_workers").get_to(job.min_workers);
  request.at("max_workers").get_to(job.max_workers);
  request.at("memory_bytes").get_to(job.memory_bytes);
  request.at("priority").get_to(job.priority);
  request.at("bytes_per_step").get_to(job.bytes_per_step);
  job.spans_machines = request.value("spans_machines", false);
  if (!request.at("length").is_null()) job.length = request.at("length").get<double>();
  request.at("words").get_to(record.words);
  request.at("folder").get_to(record.folder);
  if (job.min_workers < 1 || job.max_workers < job.min_workers || job.memory_bytes < 0)
    throw ConfigError("jobs: {} workers at least, {} at most: expected 1 <= min <= max", job.min_workers,
                      job.max_workers);
  const JobId id = coordinator.submit(record, seconds_since_1970());
  return job_json(coordinator, coordinator.record(id));
}

Json done(JobCoordinator& coordinator, SqliteJobStore& store, const std::filesystem::path& jobs_folder,
          const Json& request) {
  const auto verb = request.at("verb").get<std::string>();
  if (verb == "submit") return submit(coordinator, request);
  if (verb == "list") return list(coordinator, store, request);
  if (verb == "release") {
    const auto machine = request.at("machine").get<std::string>();
    return {{"machine", machine}, {"released", coordinator.release(machine, seconds_since_1970())}};
  }
  const JobId id = request.at("id").get<JobId>();
  if (verb == "cancel") coordinator.cancel(id, seconds_since_1970());
  if (verb == "retry") coordinator.retry(id, seconds_since_1970());
  Json json = job_json(coordinator, coordinator.record(id));
  json["run"] = (jobs_folder / std::to_string(id) / "run").string();
  if (verb == "logs") json["log"] = end_of_file(jobs_folder / std::to_string(id) / "log");
  return json;
}

Json refusal(const std::string& why, int exit_code) { return {{"error", why}, {"exit_code", exit_code}}; }

}  // namespace

bool is_question(const std::string& request) {
  const Json json = Json::parse(request, nullptr, false);
  if (!json.is_object() || !json.contains("verb")) return false;
  const Json& verb = json.at("verb");
  return verb == "list" || verb == "show" || verb == "logs";
}

std::string answer_request(JobCoordinator& coordinator, SqliteJobStore& store,
                           const std::filesystem::path& jobs_folder, const std::string& request) {
  Json answer;
  try {
    answer = done(coordinator, store, jobs_folder, Json::parse(request));
  } catch (const ConfigError& error) {
    answer = refusal(error.what(), kUsage);
  } catch (const Json::exception& error) {
    answer = refusal(fmt::format("jobs: a request that no client makes: {}", error.what()), kUsage);
  } catch (const std::exception& error) {
    answer = refusal(error.what(), kFailed);
  }
  return answer.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hocket
