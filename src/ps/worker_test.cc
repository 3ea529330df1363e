#include "ps/worker.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <string>

namespace hocket {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

// A worker with one range, whose server says and reads what the test wants.
class WorkerTest : public testing::Test, protected Outbox, protected WorkerMemory {
 protected:
  void start(WorkerOptions options, std::int32_t incarnation = 0) {
    options.workers = 2;
    if (options.batches == 0) options.batches = 100;
    client_.emplace(worker_node(options.worker), static_cast<Outbox&>(*this));
    worker_.emplace(options, *client_, static_cast<WorkerMemory&>(*this));
    client_->on_time(now_);
    client_->on_message(kCoordinator, HeartbeatDone{incarnation, nanoseconds_of(now_), 0}, now_);
    see({0, 1});
  }

  void see(std::vector<std::int32_t> slices) {
    view_.epoch += 1;
    view_.chains = {{{0}, -1, 0}};
    view_.slices = std::move(slices);
    client_->on_message(kCoordinator, view_, now_);
    worker_->advance(now_);
  }

  // Answers what has been asked for.
  void acknowledge() {
    for (const ChangeRequest& request : std::exchange(changes_, {})) {
      pushed_.push_back(std::get<Push>(request.change));
      client_->on_message(server_node(0), ChangeDone{0, request.sequence}, now_);
    }
    worker_->advance(now_);
  }
  void answer(std::int64_t version, double batches = 0) {
    ASSERT_TRUE(pull_);
    const PullDone done{0, pull_->request, {version, batches}};
    pull_.reset();
    client_->on_message(server_node(0), done, now_);
    worker_->advance(now_);
  }
  void compute() {
    ASSERT_EQ(worker_->need(), Worker::Need::gradient);
    const bool is_pushed = worker_->task().is_pushed;
    worker_->finish(std::vector<Push>(is_pushed ? 1 : 0), now_);
  }
  bool is_computing() const { return worker_->need() == Worker::Need::gradient; }

  void send(const NodeId&, const Message& message) override {
    if (const auto* change = std::get_if<ChangeRequest>(&message)) changes_ = {*change};
    if (const auto* pull = std::get_if<PullRequest>(&message)) pull_ = *pull;
  }
  Payload ids(RangeId, int, std::int64_t clock) override {
    return has_rows_ ? Payload::copy_of(std::as_bytes(std::span(&clock, 1))) : Payload();
  }
  std::uint64_t destination(RangeId) override { return 0; }
  void take(const PullDone& done, int, std::int64_t) override { taken_.push_back(done.progress.version); }

  TimePoint now_ = TimePoint(std::chrono::seconds(1));
  View view_;
  bool has_rows_ = false;
  std::vector<ChangeRequest> changes_;
  std::optional<PullRequest> pull_;
  std::vector<Push> pushed_;
  std::vector<std::int64_t> taken_;
  std::optional<Client> client_;
  std::optional<Worker> worker_;
};

TEST_F(WorkerTest, PullsComputesAndPushes) {
  start({});
  EXPECT_FALSE(is_computing());
  answer(0);
  EXPECT_TRUE(is_computing());
  compute();
  EXPECT_EQ(pull_->clock, 1);  // Asked for at once,
  answer(1, 0.5);
  EXPECT_FALSE(is_computing());  // but the gradient is still in use.
  acknowledge();
  EXPECT_TRUE(is_computing());
  EXPECT_EQ(worker_->task().clock, 1);
  EXPECT_EQ(worker_->task().version, 1);
  EXPECT_EQ(pushed_[0].clock, 0);
}

TEST_F(WorkerTest, FetchesAndPushesAsOftenAsItShould) {
  WorkerOptions options;
  options.fetch_every = 2;
  options.push_every = 3;
  start(options);
  std::string done;
  for (int batch = 0; batch < 6; ++batch) {
    if (pull_) {
      done += 'f';
      answer(0);
    }
    ASSERT_TRUE(is_computing());
    EXPECT_EQ(worker_->task().adds, batch % 3 != 0);
    done += worker_->task().is_pushed ? 'p' : '-';
    compute();
    acknowledge();
  }
  EXPECT_EQ(done, "f--fp-f-p");
}

TEST_F(WorkerTest, EndsWhenTheServersHaveSeenAllBatches) {
  WorkerOptions options;
  options.batches = 2;
  start(options);
  answer(3, 1.5);
  compute();
  acknowledge();
  answer(4, 2.0);
  EXPECT_EQ(worker_->need(), Worker::Need::nothing);
}

TEST_F(WorkerTest, TakesOverTheSliceOfALostWorkerForTheBatchItWaitsFor) {
  WorkerOptions options;
  options.takes_over = true;
  start(options);
  answer(0);
  compute();
  acknowledge();
  EXPECT_FALSE(is_computing());
  see({0, 0});
  ASSERT_TRUE(is_computing());
  EXPECT_EQ(worker_->task().slice, 1);
  EXPECT_EQ(worker_->task().clock, 0);
  compute();
  acknowledge();
  EXPECT_FALSE(is_computing());  // Once.
  EXPECT_EQ(pushed_.back().slice, 1);
  answer(1, 1);
  EXPECT_EQ(worker_->task().slice, 0);
  EXPECT_EQ(worker_->task().clock, 1);
}

TEST_F(WorkerTest, WaitsForTheLastBatchToBeDoneWhereItMayHaveToTakeOver) {
  WorkerOptions options;
  options.takes_over = true;
  options.batches = 1;
  start(options);
  answer(0);
  compute();
  acknowledge();
  EXPECT_EQ(worker_->need(), Worker::Need::messages);
  answer(1, 1);
  EXPECT_EQ(worker_->need(), Worker::Need::nothing);
}

TEST_F(WorkerTest, LeavesOutBatchesThatWereDoneWithoutIt) {
  WorkerOptions options;
  options.follows = true;
  start(options);
  answer(0);
  compute();
  acknowledge();
  answer(5, 5);
  EXPECT_EQ(worker_->task().clock, 5);
}

TEST_F(WorkerTest, AProcessThatWasStartedAgainBeginsWhereTheOthersAre) {
  start({}, 1);
  answer(40, 20.5);
  EXPECT_EQ(worker_->task().clock, 20);
}

TEST_F(WorkerTest, RowsAreThoseOfTheBatchThatIsComputed) {
  has_rows_ = true;
  start({}, 1);
  answer(40, 20.5);
  EXPECT_FALSE(is_computing());  // They were of batch 0.
  EXPECT_EQ(pull_->clock, 20);
  answer(41, 21);
  EXPECT_EQ(worker_->task().clock, 20);
}

TEST_F(WorkerTest, RowsOfABatchThatTheOthersHaveDoneMeanwhileAreAskedForOnce) {
  has_rows_ = true;
  WorkerOptions options;
  options.follows = true;
  start(options);
  answer(0);
  compute();
  acknowledge();
  answer(5, 5);
  EXPECT_FALSE(is_computing());
  EXPECT_EQ(pull_->clock, 5);
  answer(6, 6);
  EXPECT_EQ(worker_->task().clock, 5);
  compute();
  acknowledge();
  answer(6, 6);
  EXPECT_EQ(worker_->task().clock, 6);
}

TEST_F(WorkerTest, PullsForTheNextBatchWhileItComputes) {
  has_rows_ = true;
  WorkerOptions options;
  options.pulls_ahead = true;
  options.batches = 4;
  start(options);
  answer(0);
  EXPECT_FALSE(pull_);
  worker_->pull_ahead(now_);
  EXPECT_EQ(pull_->clock, 1);
  answer(7, 1.5);
  EXPECT_EQ(worker_->task().clock, 0);
  EXPECT_THAT(taken_, ElementsAre(0));  // What came is not for the batch at hand.
  compute();
  EXPECT_TRUE(is_computing());  // With one gradient on its way.
  EXPECT_EQ(worker_->task().clock, 1);
  EXPECT_EQ(worker_->task().version, 7);
  worker_->pull_ahead(now_);
  EXPECT_EQ(pull_->clock, 2);
  answer(8, 2);
  compute();
  EXPECT_FALSE(is_computing());  // With two.
  acknowledge();
  EXPECT_EQ(pushed_[0].clock, 0);
  EXPECT_EQ(pushed_[0].version, 0);
  EXPECT_TRUE(is_computing());
  worker_->pull_ahead(now_);
  EXPECT_FALSE(pull_);  // Near the end it asks when its gradient counts.
  compute();
  EXPECT_EQ(pull_->clock, 3);
}

TEST_F(WorkerTest, OthersWaitWhileTheFirstWarmsUp) {
  WorkerOptions options;
  options.worker = 1;
  options.warm_start = 3;
  start(options);
  answer(2);
  EXPECT_FALSE(is_computing());
  EXPECT_FALSE(pull_);
  now_ = later(now_, Seconds(0.1));
  worker_->advance(now_);
  answer(3);
  EXPECT_TRUE(is_computing());
  EXPECT_THAT(taken_, ElementsAre(2, 3));
}

TEST_F(WorkerTest, EndsWhenTheTrainingIsOver) {
  start({});
  view_.is_over = true;
  see({0, 1});
  EXPECT_EQ(worker_->need(), Worker::Need::nothing);
  EXPECT_THAT(pushed_, IsEmpty());
}

}  // namespace
}  // namespace hocket
