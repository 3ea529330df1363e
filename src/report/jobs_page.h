#pragma once

#include <string>

namespace hocket {

// A page about the queue of a scheduler that asks its server for the same data again and again: the machines'
// slots over time, running jobs with their curves, who waits, who has ended. `data` is JSON:
// {"version", "api", "trouble", "folder", "now": seconds since 1970,
//  "jobs": as of hocket jobs list --json, each with "curves": {"loss", "accuracy": {NAME: [[step,
//  value]...]}}, "machines": likewise, "attempts": [{"job", "attempt", "machine", "workers", "started",
//  "ended"}...]}
std::string render_jobs_page(const std::string& data);

}  // namespace hocket
