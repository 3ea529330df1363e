#include "jobs/sqlite_job_store.h"

#include <sqlite3.h>

#include "base/error.h"

namespace hocket {
namespace {

struct Finalize {
  void operator()(sqlite3_stmt* statement) const { sqlite3_finalize(statement); }
};
using Statement = std::unique_ptr<sqlite3_stmt, Finalize>;

Statement prepare(sqlite3* database, const char* sql) {
  sqlite3_stmt* statement = nullptr;
  sqlite3_prepare_v2(database, sql, -1, &statement, nullptr);
  return Statement(statement);
}

// A record with an allocation begins an attempt, one without ends it: what was when is kept with the very
// write that made it so.
constexpr const char* kAttempts[] = {
    "CREATE TABLE IF NOT EXISTS attempts(job INTEGER, attempt INTEGER, machine INTEGER, workers INTEGER, "
    "started REAL, ended REAL, PRIMARY KEY(job, attempt, machine))",
    "CREATE INDEX IF NOT EXISTS attempts_by_end ON attempts(ended)",
    "CREATE TRIGGER IF NOT EXISTS attempt_begins AFTER INSERT ON jobs "
    "WHEN json_array_length(NEW.record, '$.allocation') > 0 BEGIN "
    "INSERT OR IGNORE INTO attempts SELECT NEW.id, json_extract(NEW.record, '$.attempt'), "
    "json_extract(value, '$[0]'), json_extract(value, '$[1]'), json_extract(NEW.record, '$.started'), NULL "
    "FROM json_each(NEW.record, '$.allocation'); END",
    "CREATE TRIGGER IF NOT EXISTS attempt_ends AFTER INSERT ON jobs "
    "WHEN json_array_length(NEW.record, '$.allocation') = 0 BEGIN "
    "UPDATE attempts SET ended = json_extract(NEW.record, "
    "CASE NEW.state WHEN 'waiting' THEN '$.waiting_since' ELSE '$.ended' END) "
    "WHERE job = NEW.id AND ended IS NULL; END"};

}  // namespace

void SqliteJobStore::Close::operator()(sqlite3* database) const { sqlite3_close(database); }

SqliteJobStore::SqliteJobStore(const std::filesystem::path& file) : file_(file) {
  open(database_, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  execute("PRAGMA journal_mode=WAL");
  execute("PRAGMA synchronous=FULL");
  execute(
      "CREATE TABLE IF NOT EXISTS jobs(id INTEGER PRIMARY KEY, state TEXT NOT NULL, record TEXT NOT NULL)");
  execute(
      "CREATE TABLE IF NOT EXISTS machines(id INTEGER PRIMARY KEY, state TEXT NOT NULL, record TEXT NOT "
      "NULL)");
  for (const char* sql : kAttempts) execute(sql);
  open(reader_, SQLITE_OPEN_READONLY);
}

void SqliteJobStore::open(Database& database, int flags) {
  sqlite3* opened = nullptr;
  const int code = sqlite3_open_v2(file_.c_str(), &opened, flags, nullptr);
  database.reset(opened);
  if (code != SQLITE_OK) fail(opened, "open");
  sqlite3_busy_timeout(opened, 5000);
}

void SqliteJobStore::fail(sqlite3* database, const char* what) {
  const int code = sqlite3_errcode(database);
  const char* why = sqlite3_errmsg(database);
  if (code == SQLITE_NOTADB || code == SQLITE_CORRUPT)
    throw DataError("{}: is no queue of hocket jobs: {}", file_.string(), why);
  throw Error("{}: cannot {} the queue: {}", file_.string(), what, why);
}

void SqliteJobStore::execute(const char* sql) {
  if (sqlite3_exec(database_.get(), sql, nullptr, nullptr, nullptr) != SQLITE_OK)
    fail(database_.get(), "open");
}

std::vector<std::string> SqliteJobStore::texts(const char* sql) {
  const Statement statement = prepare(database_.get(), sql);
  if (!statement) fail(database_.get(), "read");
  std::vector<std::string> all;
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(statement.get())) == SQLITE_ROW) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement.get(), 0));
    all.emplace_back(text == nullptr ? "" : text);
  }
  if (step != SQLITE_DONE) fail(database_.get(), "read");
  return all;
}

void SqliteJobStore::put(const char* sql, std::int64_t key, const std::string& text,
                         const std::string& state) {
  const Statement statement = prepare(database_.get(), sql);
  if (!statement) fail(database_.get(), "write");
  sqlite3_bind_int64(statement.get(), 1, key);
  sqlite3_bind_text(statement.get(), 2, state.data(), static_cast<int>(state.size()), SQLITE_TRANSIENT);
  sqlite3_bind_text(statement.get(), 3, text.data(), static_cast<int>(text.size()), SQLITE_TRANSIENT);
  if (sqlite3_step(statement.get()) != SQLITE_DONE) fail(database_.get(), "write");
}

std::vector<JobRecord> SqliteJobStore::jobs() {
  std::vector<JobRecord> all;
  for (const std::string& text : texts("SELECT record FROM jobs ORDER BY id"))
    all.push_back(job_record_from_json(text));
  return all;
}

std::vector<ClusterMachine> SqliteJobStore::machines() {
  std::vector<ClusterMachine> all;
  for (const std::string& text : texts("SELECT record FROM machines ORDER BY id"))
    all.push_back(machine_from_json(text));
  return all;
}

std::vector<AttemptSpan> SqliteJobStore::attempts(double since, int most) {
  const Statement statement = prepare(reader_.get(),
                                      "SELECT job, attempt, machine, workers, started, ended FROM attempts "
                                      "WHERE ended IS NULL OR ended > ? ORDER BY started DESC LIMIT ?");
  if (!statement) fail(reader_.get(), "read");
  sqlite3_bind_double(statement.get(), 1, since);
  sqlite3_bind_int(statement.get(), 2, most);
  std::vector<AttemptSpan> all;
  int step = SQLITE_ROW;
  while ((step = sqlite3_step(statement.get())) == SQLITE_ROW) {
    const auto integer = [&](int column) { return sqlite3_column_int(statement.get(), column); };
    AttemptSpan span{sqlite3_column_int64(statement.get(), 0),  integer(1), integer(2), integer(3),
                     sqlite3_column_double(statement.get(), 4), {}};
    if (sqlite3_column_type(statement.get(), 5) != SQLITE_NULL)
      span.ended = sqlite3_column_double(statement.get(), 5);
    all.push_back(span);
  }
  if (step != SQLITE_DONE) fail(reader_.get(), "read");
  return all;
}

void SqliteJobStore::save(const JobRecord& record) {
  put("INSERT OR REPLACE INTO jobs(id, state, record) VALUES(?, ?, ?)", record.job.id, to_json_text(record),
      name_of(record.job.state));
}

void SqliteJobStore::save(int index, const ClusterMachine& machine) {
  put("INSERT OR REPLACE INTO machines(id, state, record) VALUES(?, ?, ?)", index, to_json_text(machine), "");
}

}  // namespace hocket
