#include "cli/launch/rank_command.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <string_view>

#include "net/job_key.h"

namespace hocket {
namespace {

// Set anew for each rank, or of another launcher.
constexpr std::array<std::string_view, 17> kOwn{"HOCKET_RANK",
                                                "HOCKET_WORLD_SIZE",
                                                "HOCKET_LOCAL_RANK",
                                                "HOCKET_COORDINATOR",
                                                "HOCKET_KEY_FD",
                                                "HOCKET_JOB",
                                                "HOCKET_JOB_KEY",
                                                "HOCKET_PLAINTEXT",
                                                "HOCKET_RESTARTS",
                                                "RANK",
                                                "WORLD_SIZE",
                                                "LOCAL_RANK",
                                                "LOCAL_WORLD_SIZE",
                                                "MASTER_ADDR",
                                                "MASTER_PORT",
                                                "TORCHELASTIC_USE_AGENT_STORE",
                                                "PMI_FD"};

std::string_view name_of(std::string_view assignment) { return assignment.substr(0, assignment.find('=')); }

bool is_own(std::string_view assignment) {
  return std::find(kOwn.begin(), kOwn.end(), name_of(assignment)) != kOwn.end();
}

}  // namespace

std::string job_mark(const JobKey& key, int host) {
  return fmt::format("HOCKET_JOB={:016x}.{}", job_id(key), host);
}

std::vector<std::string> environment_of(const RankCommand& command, const JobKey& key, Rank rank,
                                        int local_rank, int local_size, int key_fd) {
  std::vector<std::string> all;
  for (const std::string& each : command.environment) {
    if (!is_own(each)) all.push_back(each);
  }
  const auto set = [&](std::string_view name, const auto& value) {
    all.push_back(fmt::format("{}={}", name, value));
  };
  all.push_back(job_mark(key, command.host));
  set("HOCKET_RANK", rank);
  set("HOCKET_WORLD_SIZE", command.world_size);
  set("HOCKET_LOCAL_RANK", local_rank);
  set("HOCKET_COORDINATOR", to_string(command.coordinator));
  set("HOCKET_KEY_FD", key_fd);
  if (command.plaintext) set("HOCKET_PLAINTEXT", 1);
  if (command.restarts > 0) set("HOCKET_RESTARTS", command.restarts);
  set("RANK", rank);
  set("WORLD_SIZE", command.world_size);
  set("LOCAL_RANK", local_rank);
  set("LOCAL_WORLD_SIZE", local_size);
  set("MASTER_ADDR", command.coordinator.address);
  set("MASTER_PORT", command.master_port);
  return all;
}

std::vector<std::string> environment_for_other_hosts(const std::vector<std::string>& environment) {
  std::vector<std::string> kept;
  for (const std::string& each : environment) {
    const std::string_view name = name_of(each);
    const bool goes_along =
        name.starts_with("HOCKET_") || name.starts_with("OMP_") || name.starts_with("GOMP_");
    const bool is_of_machine = name.starts_with("HOCKET_JOBS_");  // By which its agent knows them.
    if (goes_along && !is_of_machine && !is_own(each)) kept.push_back(each);
  }
  return kept;
}

std::vector<std::string> this_environment() {
  std::vector<std::string> all;
  for (char** each = ::environ; *each != nullptr; ++each) all.emplace_back(*each);
  return all;
}

}  // namespace hocket
