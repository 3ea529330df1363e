// Learners in virtual time at one range of a server: how stale gradients are, and how far learners drift
// apart.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <queue>

#include "base/rng.h"
#include "sync/discipline.h"

namespace hocket {
namespace {

struct LearnersOptions {
  std::string sync;
  int learners = 30;
  std::int64_t batches = 100;  // Of each.
  std::function<double(Rng&, int learner)> compute_seconds;
  std::function<double(Rng&)> delay_seconds = [](Rng&) { return 0.0; };  // Of a message.
  std::uint64_t seed = 1;
};

// Learners compute, push and read the values again, without waiting for anything but the discipline.
class Learners {
 public:
  explicit Learners(const LearnersOptions& options)
      : options_(options),
        consistency_(make_consistency(Discipline::parse(options.sync), options.learners)()),
        rng_({options.seed}),
        learners_(static_cast<std::size_t>(options.learners)) {}

  void run() {
    for (int learner = 0; learner < options_.learners; ++learner) ask_to_begin(learner);
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      time_ = event.time;
      event.action();
    }
  }

  // By staleness, how many gradients had it when they were applied.
  const std::vector<std::int64_t>& staleness() const { return staleness_; }
  const std::vector<std::size_t>& update_sizes() const { return update_sizes_; }
  std::int64_t widest() const { return widest_; }  // Batches between one that begins and the slowest.
  bool are_all_done() const {
    return std::all_of(learners_.begin(), learners_.end(),
                       [&](const Learner& learner) { return learner.done == options_.batches; });
  }

 private:
  struct Learner {
    std::int64_t done = 0;
    std::int64_t version = 0;  // Of the values that it computes with.
    bool is_waiting = false;   // At the server, for its values.
  };
  struct Event {
    double time = 0;
    std::int64_t order = 0;
    std::function<void()> action;
    bool operator<(const Event& other) const {
      return time != other.time ? time > other.time : order > other.order;
    }
  };

  Learner& learner(int index) { return learners_[static_cast<std::size_t>(index)]; }
  void in(double seconds, std::function<void()> action) {
    events_.push({time_ + seconds, ++order_, std::move(action)});
  }
  double delay() { return options_.delay_seconds(rng_); }

  void ask_to_begin(int index) {
    in(delay(), [this, index] {
      learner(index).is_waiting = true;
      answer_those_who_may();
    });
  }

  void answer_those_who_may() {
    for (int index = 0; index < options_.learners; ++index) {
      Learner& each = learner(index);
      if (!each.is_waiting || !consistency_->may_read(index, each.done, version_)) continue;
      each.is_waiting = false;
      each.version = version_;
      in(delay(), [this, index] { begin(index); });
    }
  }

  void begin(int index) {
    const auto slowest = std::min_element(learners_.begin(), learners_.end(),
                                          [](const Learner& a, const Learner& b) { return a.done < b.done; });
    widest_ = std::max(widest_, learner(index).done - slowest->done);
    in(options_.compute_seconds(rng_, index), [this, index] { finish(index); });
  }

  void finish(int index) {
    Learner& each = learner(index);
    const Arrival arrival{0, index, each.done++, each.version};
    in(delay(), [this, index, arrival] {
      take(arrival);
      if (learner(index).done < options_.batches) ask_to_begin(index);
      answer_those_who_may();
    });
  }

  void take(Arrival arrival) {
    arrival.serial = static_cast<std::int64_t>(versions_.size());
    versions_.push_back(arrival.version);
    const Verdict verdict = consistency_->on_push(arrival, version_);
    if (verdict.update.empty()) return;
    for (const Verdict::Term& term : verdict.update) {
      const auto tau = static_cast<std::size_t>(version_ - versions_[static_cast<std::size_t>(term.serial)]);
      if (staleness_.size() <= tau) staleness_.resize(tau + 1);
      ++staleness_[tau];
    }
    update_sizes_.push_back(verdict.update.size());
    ++version_;
  }

  LearnersOptions options_;
  std::unique_ptr<Consistency> consistency_;
  Rng rng_;
  std::vector<Learner> learners_;
  std::priority_queue<Event> events_;
  double time_ = 0;
  std::int64_t order_ = 0;
  std::int64_t version_ = 0;
  std::vector<std::int64_t> versions_;  // That gradients were computed from, by serial number.
  std::vector<std::int64_t> staleness_;
  std::vector<std::size_t> update_sizes_;
  std::int64_t widest_ = 0;
};

// Log-normal, with mean 1.
double varied(Rng& rng, double cv) {
  const double variance = std::log1p(cv * cv);
  return std::exp(std::sqrt(variance) * rng.normal() - variance / 2);
}

class SoftSyncStaleness : public testing::TestWithParam<int> {};

TEST_P(SoftSyncStaleness, IsTheNumberOfSplitsOnAverageAndHardlyEverTwiceThat) {
  const int n = GetParam();
  LearnersOptions options;
  options.sync = "ps:softsync,n=" + std::to_string(n);
  options.batches = 2000;
  options.compute_seconds = [](Rng& rng, int) { return varied(rng, 0.1); };
  Learners learners(options);
  learners.run();
  double sum = 0, gradients = 0, high = 0;
  for (std::size_t tau = 0; tau < learners.staleness().size(); ++tau) {
    const auto count = static_cast<double>(learners.staleness()[tau]);
    sum += static_cast<double>(tau) * count;
    gradients += count;
    if (tau > 2 * static_cast<std::size_t>(n)) high += count;
  }
  EXPECT_NEAR(sum / gradients, n, 0.2 * n);
  EXPECT_LT(high / gradients, 1e-3);
  const auto size = static_cast<std::size_t>(options.learners / n);
  for (const std::size_t used : learners.update_sizes()) ASSERT_EQ(used, size);
  RecordProperty("mean_staleness", std::to_string(sum / gradients));
  RecordProperty("above_twice", std::to_string(high / gradients));
}

INSTANTIATE_TEST_SUITE_P(Splits, SoftSyncStaleness, testing::Values(1, 15, 30));

// Some learners stop for long, messages overtake each other and come in bursts.
LearnersOptions adversarial(std::uint64_t seed, int learners, std::int64_t bound) {
  LearnersOptions options;
  options.sync = "ps:ssp,s=" + std::to_string(bound);
  options.learners = learners;
  options.batches = 15;
  options.seed = seed;
  options.compute_seconds = [](Rng& rng, int learner) {
    const double tail = std::pow(1 - rng.uniform(), -1.5);
    return learner == 0 && rng.uniform() < 0.3 ? 50 * tail : tail;
  };
  options.delay_seconds = [](Rng& rng) { return rng.uniform() < 0.1 ? 20 * rng.uniform() : rng.uniform(); };
  return options;
}

TEST(SspClocks, AreNeverFurtherApartThanTheBound) {
  std::int64_t reached = 0;
  for (std::uint64_t seed = 1; seed <= 10000; ++seed) {
    const auto bound = static_cast<std::int64_t>(seed % 5);
    Learners learners(adversarial(seed, 2 + static_cast<int>(seed % 4), bound));
    learners.run();
    ASSERT_LE(learners.widest(), bound) << "seed " << seed;
    ASSERT_TRUE(learners.are_all_done()) << "seed " << seed;
    reached += learners.widest() == bound ? 1 : 0;
  }
  EXPECT_GT(reached, 5000);  // The bound is what holds them back.
}

}  // namespace
}  // namespace hocket
