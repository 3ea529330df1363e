// The coordinator in its thread, over a store whose disk stands still until the test lets it go on.

#include "jobs/coordinator_thread.h"

#include <gtest/gtest.h>
#include <poll.h>

#include "base/error.h"
#include "jobs/memory_job_store.h"

namespace hocket {
namespace {

class SlowStore final : public JobStore {
 public:
  std::vector<JobRecord> jobs() override { return store_.jobs(); }
  std::vector<ClusterMachine> machines() override { return store_.machines(); }
  void save(const JobRecord& record) override {
    wait();
    store_.save(record);
  }
  void save(int index, const ClusterMachine& machine) override {
    wait();
    store_.save(index, machine);
  }

  void stand_still() { is_still_ = true; }
  void go_on() {
    is_still_ = false;
    is_still_.notify_all();
  }
  void wait_for_save() const { is_saving_.wait(false); }
  void fail() { store_.is_full = true; }

 private:
  void wait() {
    is_saving_ = true;
    is_saving_.notify_all();
    is_still_.wait(true);
    is_saving_ = false;
  }

  MemoryJobStore store_;
  std::atomic<bool> is_still_ = false, is_saving_ = false;
};

// "submit" makes a job, anything else is a question: how many jobs there are.
std::string answer(JobCoordinator& coordinator, const std::string& request) {
  try {
    if (request == "submit") coordinator.submit({}, 1);
    return std::to_string(coordinator.records().size()) + " jobs";
  } catch (const Error& error) {
    return error.what();
  }
}

class CoordinatorThreadTest : public testing::Test {
 protected:
  CoordinatorThreadTest() {
    JobCoordinatorOptions options;
    options.policy = &find_policy("fifo");
    thread_.emplace(
        store_, options, [this](std::string_view line) { log(line); }, answer, Seconds(0));
  }
  ~CoordinatorThreadTest() override { store_.go_on(); }

  // What is said next on `line`.
  std::vector<std::byte> next_said(LineNumber line) {
    for (int tries = 0; tries < 100; ++tries) {
      for (SaidOnLine& said : thread_->take_said()) said_.push_back(std::move(said));
      for (auto each = said_.begin(); each != said_.end(); ++each) {
        if (each->line != line) continue;
        std::vector<std::byte> bytes = std::move(each->bytes);
        said_.erase(each);
        return bytes;
      }
      pollfd poll{thread_->fd(), POLLIN, 0};
      ::poll(&poll, 1, 100);
    }
    ADD_FAILURE() << "nothing is said on line " << line;
    return {};
  }
  std::string next_text(LineNumber line) {
    const auto bytes = next_said(line);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }
  bool has_logged(const std::string& part) {
    const std::lock_guard lock(mutex_);
    return std::any_of(lines_.begin(), lines_.end(),
                       [&](const std::string& line) { return line.find(part) != std::string::npos; });
  }

  SlowStore store_;
  std::optional<CoordinatorThread> thread_;

 private:
  void log(std::string_view line) {
    const std::lock_guard lock(mutex_);
    lines_.emplace_back(line);
  }

  std::mutex mutex_;
  std::vector<std::string> lines_;
  std::vector<SaidOnLine> said_;
};

TEST_F(CoordinatorThreadTest, AnswersQuestionsWhileTheDiskStandsStill) {
  store_.stand_still();
  thread_->hear(1, ClientRequest{"submit"});
  store_.wait_for_save();
  EXPECT_EQ(thread_->ask("list"), "0 jobs");  // What is not durable is not true yet.
  thread_->hear(2, ClientRequest{"submit"});
  EXPECT_EQ(thread_->ask("list"), "0 jobs");
  EXPECT_TRUE(thread_->take_said().empty());
  store_.go_on();
  EXPECT_EQ(next_text(1), "1 jobs");
  EXPECT_EQ(next_text(2), "2 jobs");
  EXPECT_EQ(thread_->ask("list"), "2 jobs");
  EXPECT_TRUE(has_logged("the queue took"));
}

TEST_F(CoordinatorThreadTest, StartsNothingBeforeTheDiskHasIt) {
  AgentArrives agent;
  agent.name = "a";
  thread_->hear(7, agent);
  thread_->hear(1, ClientRequest{"submit"});
  next_text(1);
  const auto start = std::get<StartAttempt>(decode_job_message(next_said(7)));
  AttemptEnded ended;
  ended.which = start.which;
  ended.signal = 9;
  store_.stand_still();
  thread_->hear(7, ended);  // It is started again, once the disk has its end.
  store_.wait_for_save();
  EXPECT_TRUE(thread_->take_said().empty());
  store_.go_on();
  EXPECT_TRUE(std::holds_alternative<ForgetAttempt>(decode_job_message(next_said(7))));
  EXPECT_EQ(std::get<StartAttempt>(decode_job_message(next_said(7))).which.attempt, 2);
}

TEST_F(CoordinatorThreadTest, AnAgentWhoseWordCannotBeKeptIsSentAway) {
  AgentArrives agent;
  agent.name = "a";
  thread_->hear(7, agent);
  thread_->hear(1, ClientRequest{"submit"});
  next_text(1);
  AttemptEnded ended;
  ended.which = std::get<StartAttempt>(decode_job_message(next_said(7))).which;
  ended.exit_code = 0;
  store_.stand_still();
  store_.fail();
  store_.go_on();
  thread_->hear(7, ended);
  EXPECT_TRUE(next_said(7).empty());
  EXPECT_TRUE(has_logged("the disk is full"));
  EXPECT_TRUE(has_logged("machine a is away"));
}

}  // namespace
}  // namespace hocket
