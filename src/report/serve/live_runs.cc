#include "report/serve/live_runs.h"

#include <fmt/format.h>

#include "report/report.h"

namespace hocket {

namespace fs = std::filesystem;

std::string version_of(const fs::path& run_folder) {
  std::string version;
  for (const char* name : {"metrics.jsonl", "summary.json", "trace.json", "config.toml"}) {
    std::error_code none;
    const fs::path file = run_folder / name;
    const auto size = fs::file_size(file, none);
    const auto time = fs::last_write_time(file, none).time_since_epoch().count();
    version += fmt::format("{}.{} ", none ? 0 : size, none ? 0 : time);
  }
  return version;
}

LiveRuns::LiveRuns(std::vector<fs::path> folders, std::string api)
    : folders_(std::move(folders)), api_(std::move(api)) {}

void LiveRuns::refresh() {
  const TimePoint now = Clock::now();
  if (now < next_read_) return;
  std::string version;
  for (const fs::path& folder : folders_) version += version_of(folder);
  if (version == version_) return;
  std::vector<RunData> runs;
  for (const fs::path& folder : folders_) runs.push_back(load_run(folder));
  runs_ = std::move(runs);
  version_ = std::move(version);
  next_read_ = Clock::now() + 4 * (Clock::now() - now);
}

std::string LiveRuns::page() {
  const std::lock_guard lock(mutex_);
  refresh();
  return render_live_report(runs_, version_, api_);
}

std::string LiveRuns::data() {
  const std::lock_guard lock(mutex_);
  refresh();
  return render_live_data(runs_, version_);
}

}  // namespace hocket
