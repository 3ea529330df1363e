#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/jobs/ask_scheduler.h"
#include "cli/jobs/job_request.h"
#include "cli/jobs/jobs_table.h"
#include "cli/jobs/jobs_verbs.h"
#include "cli/jobs/scheduler_place.h"
#include "cli/terminal.h"
#include "cli/units.h"

namespace hocket {
namespace {

using Json = nlohmann::json;

Json ask(const Arguments& arguments, const Json& request) {
  return ask_scheduler(place_of(arguments), request);
}

int submit(const Arguments& arguments) {
  const std::vector<std::string> words = train_words(arguments);
  const auto [low, high] = workers_of(arguments.text("workers", "1"));
  Json request = {
      {"verb", "submit"},
      {"name", arguments.text("name", words.size() > 1 ? words[1] : words[0])},
      {"owner", arguments.text("owner", user_name())},
      {"min_workers", low},
      {"max_workers", high},
      {"memory_bytes",
       arguments.has("memory") ? parse_bytes(arguments.text("memory"), "jobs submit: --memory") : 0},
      {"priority", arguments.integer("priority", 0, -100, 100)},
      {"bytes_per_step", arguments.has("bytes-per-step")
                             ? static_cast<double>(parse_bytes(arguments.text("bytes-per-step"),
                                                               "jobs submit: --bytes-per-step"))
                             : 0.0},
      {"spans_machines", arguments.has("span")},
      {"words", words},
      {"folder", std::filesystem::current_path().string()}};
  request["length"] = arguments.has("length") ? Json(seconds_of(arguments, "length", 0)) : Json(nullptr);
  const Json job = ask(arguments, request);
  write_output(arguments.has("json") ? job.dump(2) + '\n'
                                     : fmt::format("job {}\n", job.at("id").get<std::int64_t>()));
  return kDone;
}

Json ask_about(const Arguments& arguments) {
  return ask(arguments, {{"verb", arguments.words().front()}, {"id", job_of(arguments)}});
}

}  // namespace

int run_jobs_submit(const Arguments& arguments) { return submit(arguments); }

int run_jobs_list(const Arguments& arguments) {
  const Json all = ask(arguments, {{"verb", "list"}, {"all", arguments.has("all")}});
  write_output(arguments.has("json") ? all.dump(2) + '\n' : jobs_table(all));
  return kDone;
}

int run_jobs_show(const Arguments& arguments) {
  write_output(ask_about(arguments).dump(2) + '\n');
  return kDone;
}

int run_jobs_logs(const Arguments& arguments) {
  const Json job = ask_about(arguments);
  write_output(arguments.has("json") ? job.dump(2) + '\n' : job.at("log").get<std::string>());
  return kDone;
}

int run_jobs_change(const Arguments& arguments) {
  const Json job = ask_about(arguments);
  write_output(arguments.has("json") ? job.dump(2) + '\n'
                                     : fmt::format("job {} is {}\n", job.at("id").get<JobId>(),
                                                   job.at("state").get<std::string>()));
  return kDone;
}

int run_jobs_release(const Arguments& arguments) {
  if (arguments.words().size() < 2) throw ConfigError("jobs release: which machine? Give its name");
  const std::string& machine = arguments.words()[1];
  const Json answer = ask(arguments, {{"verb", "release"}, {"machine", machine}});
  write_output(arguments.has("json") ? answer.dump(2) + '\n'
                                     : fmt::format("{} jobs of machine {} wait again\n",
                                                   answer.at("released").get<int>(), machine));
  return kDone;
}

std::vector<Option> jobs_client_options() {
  const std::string group = "submit and list";
  return {
      {"name", "NAME", "submit: of the job (its model); agent: of the machine (its host name)", group},
      {"owner", "NAME", "submit: whose it is (the user)", group},
      {"workers", "N|MIN:MAX", "submit: workers that train it; a range makes it elastic (1)", group},
      {"memory", "BYTES", "submit: of each worker (not counted)", group},
      {"priority", "N", "submit: each level is worth an hour of waiting (0)", group},
      {"length", "TIME", "submit: how long it takes with all its workers (estimated)", group},
      {"bytes-per-step", "BYTES", "submit: what its workers send each step; it then stays in few racks",
       group},
      {"span", "", "submit: it may run on several machines at once", group},
      {"all", "", "list: those that have ended, too", group},
  };
}

}  // namespace hocket
