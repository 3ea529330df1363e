#pragma once

#include <filesystem>
#include <mutex>
#include <string>
#include <vector>

#include "net/clock.h"
#include "report/run_data.h"

namespace hocket {

// What the files of a run folder are now, told apart by size and time; another text when one has changed.
std::string version_of(const std::filesystem::path& run_folder);

// Run folders as they are while runs go on: their page and their data. They are read again when a file has
// changed, but for at most a fifth of the time. Thread-safe. Throws DataError as load_run() does.
class LiveRuns {
 public:
  LiveRuns(std::vector<std::filesystem::path> folders, std::string api);  // `api`: where data() is served.

  std::string page();
  std::string data();  // JSON.

 private:
  void refresh();

  const std::vector<std::filesystem::path> folders_;
  const std::string api_;
  std::mutex mutex_;
  std::vector<RunData> runs_;  // With what follows: guarded by mutex_.
  std::string version_;
  TimePoint next_read_{};
};

}  // namespace hocket
