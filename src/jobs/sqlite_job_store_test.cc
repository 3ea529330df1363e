#include "jobs/sqlite_job_store.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <fstream>
#include <set>

#include "base/error.h"

namespace hocket {
namespace {

namespace fs = std::filesystem;

class SqliteJobStoreTest : public testing::Test {
 protected:
  SqliteJobStoreTest() {
    std::string name = testing::TempDir() + "queue-XXXXXX";
    folder_ = ::mkdtemp(name.data());
  }
  ~SqliteJobStoreTest() override { fs::remove_all(folder_); }

  fs::path folder_;
};

TEST_F(SqliteJobStoreTest, WhatIsSavedIsThereWhenItIsOpenedAgain) {
  JobRecord record;
  record.job.id = 7;
  record.job.name = "a 'name' with \"quotes\"";
  record.job.max_workers = 4;
  record.job.length = 12.5;
  record.job.state = JobState::stopping;
  record.job.allocation = {{1, 3}};
  record.next = {{1, 2}};
  record.words = {"--model", "mlp"};
  record.attempt = 3;
  {
    SqliteJobStore store(folder_ / "queue");
    store.save(0, {"a", 2, 100, 1, true});
    store.save(1, {"b", 4, 0, 2, true});
    store.save(record);
    record.attempt = 4;
    store.save(record);
  }
  SqliteJobStore store(folder_ / "queue");
  ASSERT_EQ(store.jobs().size(), 1u);
  EXPECT_EQ(to_json_text(store.jobs()[0]), to_json_text(record));
  ASSERT_EQ(store.machines().size(), 2u);
  EXPECT_EQ(store.machines()[1].name, "b");
  EXPECT_FALSE(store.machines()[1].is_present);  // Until its agent says so.
}

TEST_F(SqliteJobStoreTest, KeepsWhichAttemptHeldWhatWhen) {
  SqliteJobStore store(folder_ / "queue");
  JobRecord record;
  record.job.id = 7;
  const auto run = [&](int attempt, int machine, int workers, double now) {
    record.attempt = attempt;
    record.job.state = JobState::running;
    record.job.allocation = {{machine, workers}};
    record.job.started = now;
    store.save(record);
    record.job.state = JobState::stopping;
    store.save(record);  // Still the same attempt.
  };
  const auto end = [&](JobState state, double now) {
    record.job.state = state;
    record.job.allocation.clear();
    (state == JobState::waiting ? record.job.waiting_since : record.ended) = now;
    store.save(record);
  };
  store.save(record);
  run(1, 0, 2, 10);
  end(JobState::waiting, 20);
  run(2, 1, 3, 25);
  end(JobState::done, 40);
  store.save(record);
  record.job.id = 8;
  run(1, 0, 1, 50);
  record.job.id = 9;
  record.job.allocation = {{0, 1}, {1, 2}};
  record.job.started = 5;
  store.save(record);
  end(JobState::done, 6);

  const auto all = store.attempts(0, 10);
  ASSERT_EQ(all.size(), 5U);
  EXPECT_EQ(std::tie(all[3].job, *all[3].ended), std::tuple(9, 6));
  EXPECT_EQ(std::set({std::pair(all[3].machine, all[3].workers), std::pair(all[4].machine, all[4].workers)}),
            std::set({std::pair(0, 1), std::pair(1, 2)}));
  EXPECT_EQ(std::tie(all[2].job, all[2].attempt, all[2].machine, all[2].workers), std::tuple(7, 1, 0, 2));
  EXPECT_EQ(std::tie(all[2].started, *all[2].ended), std::tuple(10, 20));
  EXPECT_EQ(std::tie(all[1].attempt, all[1].machine, all[1].workers), std::tuple(2, 1, 3));
  EXPECT_EQ(std::tie(all[1].started, *all[1].ended), std::tuple(25, 40));
  EXPECT_FALSE(all[0].ended);
  EXPECT_EQ(store.attempts(30, 10).size(), 2U);
  EXPECT_EQ(store.attempts(0, 1).front().job, 8);

  record.job.id = 9;  // On two machines.
  record.job.allocation = {{0, 2}, {1, 1}};
  record.job.started = 60;
  store.save(record);
  EXPECT_EQ(store.attempts(0, 10).size(), 5U);
  end(JobState::waiting, 70);
  for (const AttemptSpan& span : store.attempts(0, 2)) EXPECT_EQ(span.ended, 70) << span.machine;
}

TEST_F(SqliteJobStoreTest, AFileThatIsNoQueueIsRefused) {
  std::ofstream(folder_ / "queue") << "this is a text of some length, and no database at all";
  EXPECT_THROW(SqliteJobStore store(folder_ / "queue"), DataError);
  EXPECT_THROW(SqliteJobStore store(folder_ / "missing" / "queue"), Error);
  EXPECT_THROW(job_record_from_json("{\"id\": \"x\"}"), DataError);
  EXPECT_THROW(job_record_from_json("nonsense"), DataError);
}

}  // namespace
}  // namespace hocket
