#include "cli/jobs/live_jobs.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/error.h"
#include "cli/jobs/ask_scheduler.h"

namespace hocket {
namespace {

using Json = nlohmann::json;

constexpr double kShown = 86400;  // Seconds that the page looks back.
constexpr Seconds kLivePatience{5.0};
constexpr Seconds kBetweenAsks{0.5};  // However many look at the page.

}  // namespace

std::string LiveJobs::data() {
  const std::lock_guard lock(mutex_);
  if (!data_.empty() && Clock::now() < next_ask_) return data_;
  data_ = ask();
  next_ask_ = after(kBetweenAsks);
  return data_;
}

std::string LiveJobs::ask() {
  const double now = seconds_since_1970();
  Json all = {{"jobs", Json::array()}, {"machines", Json::array()}, {"attempts", Json::array()}};
  std::string trouble;
  try {
    all = ask_scheduler(place_, {{"verb", "list"}, {"all", false}, {"since", now - kShown}}, kLivePatience);
    for (Json& job : all.at("jobs")) {
      if (job.at("workers") == 0) continue;
      const std::string id = std::to_string(job.at("id").get<std::int64_t>());
      job["curves"] = Json::parse(curves_.of(place_.jobs_folder() / id / "run"));
    }
  } catch (const Error& error) {
    trouble = error.what();
    if (!data_.empty()) all = Json::parse(data_);
  }
  all["trouble"] = trouble;
  all["now"] = trouble.empty() || !all.contains("now") ? Json(now) : all["now"];
  all["version"] = fmt::format("{:.3f} {}", now, trouble);
  all["folder"] = place_.folder.string();
  all["api"] = "/api/jobs";
  return all.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace hocket
