#include "sync/pair_gossip.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <barrier>
#include <chrono>
#include <thread>

#include "base/error.h"
#include "net/run_ranks.h"

namespace hocket {
namespace {

constexpr int kValues = 1000;
constexpr std::int64_t kForever = std::int64_t{1} << 40;

double sum_of(const Arena& arena) {
  double sum = 0;
  for (const double value : arena.at<double>(0, kValues)) sum += value;
  return sum;
}

// One worker of a test, on a transport of its own.
class Worker {
 public:
  Worker(Transport& transport, const PeerGraph& graph, double value)
      : start_(kValues, value),
        gossip_(transport, graph, std::as_bytes(std::span(start_)), {7, DType::f64}) {}

  PairGossip& gossip() { return gossip_; }
  std::int64_t steps() const { return progress_.steps; }
  // Adds `gradient` to each value; whether a meeting is called. Takes a while, as steps do: threads that did
  // nothing but ask for the lock would leave others without it.
  bool step(double gradient, bool wants_to_stop) {
    std::this_thread::sleep_for(std::chrono::microseconds(20));
    for (double& value : gossip_.lock().at<double>(0, kValues)) value += gradient;
    gossip_.unlock();
    ++progress_.steps;
    progress_.samples += 2;
    return gossip_.finish_step(progress_, wants_to_stop);
  }
  void meet(std::barrier<>& all) {
    gossip_.settle();
    all.arrive_and_wait();
    gossip_.settle();
  }
  double sum() {
    const double sum = sum_of(gossip_.lock());
    gossip_.unlock();
    return sum;
  }

 private:
  std::vector<double> start_;
  PairGossip gossip_;
  PairProgress progress_;
};

class PairGossipTest : public testing::TestWithParam<Medium> {};

TEST_P(PairGossipTest, ExchangesKeepTheSumAndBringTheWorkersTogether) {
  constexpr int kWorkers = 4;
  std::barrier all(kWorkers);
  std::vector<double> sums(kWorkers);
  std::vector<std::int64_t> steps(kWorkers);
  std::atomic<int> content = 0;  // Workers that have seen enough exchanges.
  const auto body = [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    Worker worker(*transport, make_peer_graph("complete", kWorkers), static_cast<double>(rank));
    all.arrive_and_wait();
    worker.gossip().open(kForever, 0);
    bool is_content = false;
    while (!worker.step(0, content == kWorkers)) {
      if (!is_content && worker.gossip().counts().exchanges >= 40) ++content;
      is_content = is_content || worker.gossip().counts().exchanges >= 40;
    }
    worker.meet(all);
    sums[rank] = worker.sum() / kValues;
    steps[rank] = worker.steps();
    if (rank == 0) {
      const PairProgress progress = worker.gossip().progress_of_all();
      EXPECT_EQ(progress.samples, 2 * progress.steps);
      EXPECT_GT(progress.steps, worker.steps());
    }
    all.arrive_and_wait();
  };
  EXPECT_THAT(run_ranks(kWorkers, body, GetParam()), testing::Each(testing::IsEmpty()));
  EXPECT_NEAR(sums[0] + sums[1] + sums[2] + sums[3], 0 + 1 + 2 + 3, 1e-9);
  for (const double sum : sums) EXPECT_NEAR(sum, 1.5, 0.1);
}

TEST_P(PairGossipTest, OneThatStandsStillIsAskedAndStopsNobody) {
  constexpr int kWorkers = 3;
  constexpr int kStill = 2;
  std::barrier all(kWorkers);
  std::atomic<bool> was_asked = false;
  std::vector<double> sums(kWorkers);
  std::vector<std::int64_t> steps(kWorkers);
  const auto body = [&](std::unique_ptr<Transport> transport) {
    const int rank = transport->rank();
    Worker worker(*transport, make_peer_graph("ring", kWorkers), rank);
    all.arrive_and_wait();
    worker.gossip().open(kForever, 0);
    if (rank == kStill) {  // Its one step ends when the others have had theirs of it.
      while (worker.gossip().counts().exchanges < 3) std::this_thread::yield();
      was_asked = true;
    }
    while (!worker.step(1, was_asked)) {
    }
    worker.meet(all);
    sums[static_cast<std::size_t>(rank)] = worker.sum() / kValues;
    steps[static_cast<std::size_t>(rank)] = worker.steps();
    all.arrive_and_wait();
  };
  EXPECT_THAT(run_ranks(kWorkers, body, GetParam()), testing::Each(testing::IsEmpty()));
  EXPECT_NEAR(sums[0] + sums[1] + sums[2], 3.0 + static_cast<double>(steps[0] + steps[1] + steps[2]), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Media, PairGossipTest, testing::Values(Medium::inproc, Medium::shm, Medium::tcp),
                         [](const auto& medium) { return name_of(medium.param); });

TEST(PairGossip, MeetsWhenAllTogetherHaveDoneTheirSteps) {
  constexpr int kWorkers = 3;
  std::barrier all(kWorkers);
  std::atomic<std::int64_t> total = 0;
  const auto body = [&](std::unique_ptr<Transport> transport) {
    Worker worker(*transport, make_peer_graph("ring", kWorkers), 0);
    for (const std::int64_t target : {600, 1200}) {
      const std::int64_t before = total;
      all.arrive_and_wait();
      worker.gossip().open(target, before);
      do ++total;
      while (!worker.step(0, false));
      worker.meet(all);
      EXPECT_GE(total, target);
      EXPECT_LE(total, target + 300) << "though a step takes no time at all";
    }
    all.arrive_and_wait();
  };
  EXPECT_THAT(run_ranks(kWorkers, body), testing::Each(testing::IsEmpty()));
}

TEST(PairGossip, APeerThatDoesNotAnswerIsNamed) {
  std::barrier all(2);
  const auto body = [&](std::unique_ptr<Transport> transport) {
    if (transport->rank() == 1) return all.arrive_and_wait(), void();
    const std::vector<double> start(4);
    PairGossip gossip(*transport, make_peer_graph("ring", 2), std::as_bytes(std::span(start)),
                      {1, DType::f64, Seconds(0.05)});
    gossip.open(kForever, 0);
    try {
      for (std::int64_t step = 1;; ++step) gossip.finish_step({step, step, 0}, false);
    } catch (const NetError& error) {
      all.arrive_and_wait();
      throw;
    }
  };
  EXPECT_THAT(run_ranks(2, body)[0], testing::HasSubstr("rank 0: rank 1 did not answer"));
}

}  // namespace
}  // namespace hocket
