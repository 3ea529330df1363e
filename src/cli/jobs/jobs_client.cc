#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <filesystem>
#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/exit_code.h"
#include "cli/jobs/ask_scheduler.h"
#include "cli/jobs/jobs_verbs.h"
#include "cli/jobs/scheduler_place.h"
#include "cli/terminal.h"
#include "cli/units.h"
#include "jobs/cluster_job.h"

namespace hocket {
namespace {

using Json = nlohmann::json;

Json ask(const Arguments& arguments, const Json& request) {
  return ask_scheduler(place_of(arguments), request);
}

std::string user_name() {
  const passwd* user = ::getpwuid(::getuid());
  return user == nullptr ? std::to_string(::getuid()) : user->pw_name;
}

// "2" or "1:4".
std::pair<int, int> workers_of(const std::string& text) {
  const std::size_t colon = text.find(':');
  const auto low = parse_integer(text.substr(0, colon));
  const auto high = colon == std::string::npos ? low : parse_integer(text.substr(colon + 1));
  if (!low || !high || *low < 1 || *high < *low || *high > (1 << 16))
    throw ConfigError("jobs submit: --workers {}: expected N or MIN:MAX, as in 1:4", text);
  return {static_cast<int>(*low), static_cast<int>(*high)};
}

void check_words(const std::vector<std::string>& words) {
  for (const std::string& word : words) {
    for (const std::string_view own : {"--workers", "--resume", "--out"}) {
      if (word == own || word.starts_with(std::string(own) + "="))
        throw ConfigError("jobs submit: {} is the scheduler's to give; leave it out after --{}", own,
                          own == "--workers" ? " and give it before" : "");
    }
  }
}

int submit(const Arguments& arguments) {
  std::vector<std::string> words(arguments.words().begin() + 1, arguments.words().end());
  if (words.empty())
    throw ConfigError("jobs submit: what? Put the options of hocket train after --, as in: -- --model lenet");
  if (words.front() == "train") words.erase(words.begin());
  check_words(words);
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
      {"words", words},
      {"folder", std::filesystem::current_path().string()}};
  request["length"] = arguments.has("length") ? Json(seconds_of(arguments, "length", 0)) : Json(nullptr);
  const Json job = ask(arguments, request);
  write_output(arguments.has("json") ? job.dump(2) + '\n'
                                     : fmt::format("job {}\n", job.at("id").get<std::int64_t>()));
  return kDone;
}

std::string table_of(const Json& all) {
  std::string text = fmt::format("{:>5}  {:<16}{:<12}{:<11}{:>8}  {:<12}{:>16}{:>9}  {}\n", "job", "name",
                                 "owner", "state", "workers", "machine", "worker time", "starts", "reason");
  for (const Json& job : all.at("jobs")) {
    const int low = job.at("min_workers").get<int>(), high = job.at("max_workers").get<int>();
    const int now = job.at("workers").get<int>();
    const std::string wanted = low == high ? std::to_string(high) : fmt::format("{}:{}", low, high);
    text += fmt::format("{:>5}  {:<16.15}{:<12.11}{:<11}{:>8}  {:<12}{:>16}{:>9}  {}\n",
                        job.at("id").get<std::int64_t>(), job.at("name").get<std::string>(),
                        job.at("owner").get<std::string>(), job.at("state").get<std::string>(),
                        now > 0 ? std::to_string(now) : wanted,
                        job.at("machine").is_null() ? "-" : job.at("machine").get<std::string>(),
                        duration_text(job.at("worker_seconds").get<double>()), job.at("attempts").get<int>(),
                        job.at("reason").get<std::string>());
  }
  for (const Json& machine : all.at("machines")) {
    text += fmt::format("machine {}: {} slots{}\n", machine.at("name").get<std::string>(),
                        machine.at("slots").get<int>(), machine.at("is_here").get<bool>() ? "" : ", away");
  }
  return text;
}

JobId id_of(const Arguments& arguments) {
  const std::string& verb = arguments.words().front();
  if (arguments.words().size() < 2) throw ConfigError("jobs {}: which job? Give its number", verb);
  const auto id = parse_integer(arguments.words()[1]);
  if (!id) throw ConfigError("jobs {}: {} is not the number of a job", verb, arguments.words()[1]);
  return *id;
}

Json ask_about(const Arguments& arguments) {
  return ask(arguments, {{"verb", arguments.words().front()}, {"id", id_of(arguments)}});
}

}  // namespace

int run_jobs_submit(const Arguments& arguments) { return submit(arguments); }

int run_jobs_list(const Arguments& arguments) {
  const Json all = ask(arguments, {{"verb", "list"}, {"all", arguments.has("all")}});
  write_output(arguments.has("json") ? all.dump(2) + '\n' : table_of(all));
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
      {"all", "", "list: those that have ended, too", group},
  };
}

}  // namespace hocket
