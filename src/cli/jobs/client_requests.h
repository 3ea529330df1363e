#pragma once

#include <filesystem>
#include <string>

#include "jobs/job_coordinator.h"
#include "jobs/sqlite_job_store.h"

namespace hocket {

// Whether to answer it changes nothing: it need not wait for the disk.
bool is_question(const std::string& request);

// The coordinator's side of submit, list, show, cancel, retry and logs: a request and its answer are JSON.
// `list` with "since" has jobs that ended and attempts that went on after that time, too.
// An answer has "error" and "exit_code" where the request could not be done. Throws nothing.
std::string answer_request(JobCoordinator& coordinator, SqliteJobStore& store,
                           const std::filesystem::path& jobs_folder, const std::string& request);

}  // namespace hocket
