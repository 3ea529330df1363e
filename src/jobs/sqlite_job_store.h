#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <vector>

#include "jobs/job_record.h"

struct sqlite3;

namespace hocket {

// An attempt of a job, or a part of it: it held slots of a machine for some time.
struct AttemptSpan {
  JobId job = 0;
  int attempt = 0;
  int machine = 0;
  int workers = 0;
  double started = 0;
  std::optional<double> ended;
};

// The queue in one SQLite file with a write-ahead log, synced at every save: it survives kill -9 and power
// cuts. Opening throws DataError for a file that is no queue.
class SqliteJobStore final : public JobStore {
 public:
  explicit SqliteJobStore(const std::filesystem::path& file);

  std::vector<JobRecord> jobs() override;
  std::vector<ClusterMachine> machines() override;
  void save(const JobRecord& record) override;
  void save(int index, const ClusterMachine& machine) override;

  // Those that have not ended, and those that ended after `since`; the newest `most` of them, newest first.
  // They follow from what was saved. For a thread of its own: it does not wait for what is being saved.
  std::vector<AttemptSpan> attempts(double since, int most);

 private:
  struct Close {
    void operator()(sqlite3* database) const;
  };

  using Database = std::unique_ptr<sqlite3, Close>;

  void open(Database& database, int flags);
  void execute(const char* sql);
  std::vector<std::string> texts(const char* sql);
  void put(const char* sql, std::int64_t key, const std::string& text, const std::string& state);
  [[noreturn]] void fail(sqlite3* database, const char* what);

  std::filesystem::path file_;
  Database database_;
  Database reader_;  // Of attempts() alone: a connection is one thread's at a time.
};

}  // namespace hocket
