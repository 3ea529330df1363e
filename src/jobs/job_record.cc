#include "jobs/job_record.h"

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace hocket {
namespace {

using Json = nlohmann::json;

Json shares_json(const Allocation& allocation) {
  Json shares = Json::array();
  for (const JobShare& share : allocation) shares.push_back({share.machine, share.workers});
  return shares;
}

Allocation shares_from(const Json& json) {
  Allocation allocation;
  for (const Json& share : json) allocation.push_back({share.at(0).get<int>(), share.at(1).get<int>()});
  return allocation;
}

template <typename Value>
Json optional_json(const std::optional<Value>& value) {
  return value ? Json(*value) : Json(nullptr);
}

template <typename Value>
std::optional<Value> optional_from(const Json& json) {
  return json.is_null() ? std::nullopt : std::optional<Value>(json.get<Value>());
}

JobState state_from(const Json& json) {
  const auto state = find_job_state(json.get<std::string>());
  if (!state) throw DataError("the queue has a job in the unknown state {}", json.get<std::string>());
  return *state;
}

Json to_json(const ClusterJob& job) {
  return {{"id", job.id},
          {"name", job.name},
          {"owner", job.owner},
          {"min_workers", job.min_workers},
          {"max_workers", job.max_workers},
          {"memory_bytes", job.memory_bytes},
          {"priority", job.priority},
          {"bytes_per_step", job.bytes_per_step},
          {"spans_machines", job.spans_machines},
          {"length", optional_json(job.length)},
          {"submitted", job.submitted},
          {"state", name_of(job.state)},
          {"allocation", shares_json(job.allocation)},
          {"waiting_since", job.waiting_since},
          {"started", job.started},
          {"slice_began", job.slice_began},
          {"served", job.served},
          {"attained", job.attained},
          {"host", optional_json(job.host)},
          {"shares_badly", job.shares_badly}};
}

ClusterJob job_from(const Json& json) {
  ClusterJob job;
  json.at("id").get_to(job.id);
  json.at("name").get_to(job.name);
  json.at("owner").get_to(job.owner);
  json.at("min_workers").get_to(job.min_workers);
  json.at("max_workers").get_to(job.max_workers);
  json.at("memory_bytes").get_to(job.memory_bytes);
  json.at("priority").get_to(job.priority);
  json.at("bytes_per_step").get_to(job.bytes_per_step);
  job.spans_machines = json.value("spans_machines", false);
  job.length = optional_from<double>(json.at("length"));
  json.at("submitted").get_to(job.submitted);
  job.state = state_from(json.at("state"));
  job.allocation = shares_from(json.at("allocation"));
  json.at("waiting_since").get_to(job.waiting_since);
  json.at("started").get_to(job.started);
  json.at("slice_began").get_to(job.slice_began);
  json.at("served").get_to(job.served);
  json.at("attained").get_to(job.attained);
  job.host = optional_from<JobId>(json.at("host"));
  json.at("shares_badly").get_to(job.shares_badly);
  return job;
}

Json to_json(const AttemptEnded& ended) {
  return {{"job", ended.which.job}, {"attempt", ended.which.attempt}, {"exit_code", ended.exit_code},
          {"signal", ended.signal}, {"error", ended.error},           {"last_line", ended.last_line}};
}

AttemptEnded ended_from(const Json& json) {
  AttemptEnded ended;
  json.at("job").get_to(ended.which.job);
  json.at("attempt").get_to(ended.which.attempt);
  json.at("exit_code").get_to(ended.exit_code);
  json.at("signal").get_to(ended.signal);
  json.at("error").get_to(ended.error);
  json.at("last_line").get_to(ended.last_line);
  return ended;
}

template <typename Read>
auto read_json(const std::string& text, Read read) {
  try {
    return read(Json::parse(text));
  } catch (const Json::exception& error) {
    throw DataError("the queue holds what no scheduler wrote: {}", error.what());
  }
}

}  // namespace

std::string to_json_text(const JobRecord& record) {
  Json json = to_json(record.job);
  json.update({{"words", record.words},
               {"folder", record.folder},
               {"attempt", record.attempt},
               {"restarts", record.restarts},
               {"is_cancelled", record.is_cancelled},
               {"next", shares_json(record.next)},
               {"ended", record.ended},
               {"reason", record.reason},
               {"rate_alone", optional_json(record.rate_alone)},
               {"gone", record.gone},
               {"outcome", record.outcome ? to_json(*record.outcome) : Json(nullptr)},
               {"is_part_lost", record.is_part_lost}});
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

JobRecord job_record_from_json(const std::string& text) {
  return read_json(text, [](const Json& json) {
    JobRecord record;
    record.job = job_from(json);
    json.at("words").get_to(record.words);
    json.at("folder").get_to(record.folder);
    json.at("attempt").get_to(record.attempt);
    json.at("restarts").get_to(record.restarts);
    json.at("is_cancelled").get_to(record.is_cancelled);
    record.next = shares_from(json.at("next"));
    json.at("ended").get_to(record.ended);
    json.at("reason").get_to(record.reason);
    record.rate_alone = optional_from<double>(json.value("rate_alone", Json(nullptr)));
    record.gone = json.value("gone", std::vector<int>());
    if (const Json outcome = json.value("outcome", Json(nullptr)); !outcome.is_null())
      record.outcome = ended_from(outcome);
    record.is_part_lost = json.value("is_part_lost", false);
    return record;
  });
}

std::string to_json_text(const ClusterMachine& machine) {
  return Json{{"name", machine.name},
              {"slots", machine.slots},
              {"memory_bytes", machine.memory_bytes},
              {"rack", machine.rack}}
      .dump();
}

ClusterMachine machine_from_json(const std::string& text) {
  return read_json(text, [](const Json& json) {
    ClusterMachine machine;
    json.at("name").get_to(machine.name);
    json.at("slots").get_to(machine.slots);
    json.at("memory_bytes").get_to(machine.memory_bytes);
    json.at("rack").get_to(machine.rack);
    machine.is_present = false;
    return machine;
  });
}

}  // namespace hocket
