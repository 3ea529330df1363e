#pragma once

#include <string>
#include <utility>
#include <vector>

#include "cli/arguments.h"
#include "jobs/cluster_job.h"

// What a user says of a job to `hocket jobs`. They throw ConfigError for what cannot be.
namespace hocket {

std::vector<std::string> train_words(const Arguments& arguments);  // submit: all after --.
std::pair<int, int> workers_of(const std::string& text);           // "2" or "1:4".
JobId job_of(const Arguments& arguments);                          // show and the like: which one.
std::string user_name();

}  // namespace hocket
