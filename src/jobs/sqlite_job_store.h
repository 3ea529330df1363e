#pragma once

#include <filesystem>
#include <memory>

#include "jobs/job_record.h"

struct sqlite3;

namespace hocket {

// The queue in one SQLite file with a write-ahead log, synced at every save: it survives kill -9 and power
// cuts. Opening throws DataError for a file that is no queue.
class SqliteJobStore final : public JobStore {
 public:
  explicit SqliteJobStore(const std::filesystem::path& file);

  std::vector<JobRecord> jobs() override;
  std::vector<ClusterMachine> machines() override;
  void save(const JobRecord& record) override;
  void save(int index, const ClusterMachine& machine) override;

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  void execute(const char* sql);
  std::vector<std::string> texts(const char* sql);
  void put(const char* sql, std::int64_t key, const std::string& text, const std::string& state);
  [[noreturn]] void fail(const char* what);

  std::filesystem::path file_;
  std::unique_ptr<sqlite3, Close> database_;
};

}  // namespace hocket
