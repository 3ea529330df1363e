#include "cli/jobs/jobs_table.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "cli/units.h"

namespace hocket {
namespace {

using Json = nlohmann::json;

}  // namespace

std::string jobs_table(const Json& all) {
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

}  // namespace hocket
