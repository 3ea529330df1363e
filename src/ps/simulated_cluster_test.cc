#include "ps/simulated_cluster.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <numeric>

#include "net/wire.h"

namespace hocket {
namespace {

constexpr std::uint64_t kSeeds = 60;

// Applies what comes when it comes, and lets everyone read.
class OnArrival final : public Consistency {
 public:
  Verdict on_push(const Arrival& arrival, std::int64_t) override { return {{{arrival.serial, 1}}, {}}; }
  bool may_read(int, std::int64_t, std::int64_t) const override { return true; }
  std::vector<std::byte> save() const override { return {}; }
  void restore(std::span<const std::byte>) override {}
};

// One update a batch, of all its slices.
class BatchByBatch final : public Consistency {
 public:
  explicit BatchByBatch(int workers) : workers_(static_cast<std::size_t>(workers)) {}

  Verdict on_push(const Arrival& arrival, std::int64_t version) override {
    auto& batch = batches_[arrival.clock];
    if (arrival.clock < version || batch.contains(arrival.slice)) return {{}, {arrival.serial}};
    batch[arrival.slice] = arrival.serial;
    if (batches_[version].size() < workers_) return {};
    Verdict verdict;
    for (const auto& [slice, serial] : batches_[version]) verdict.update.push_back({serial, 1});
    batches_.erase(batches_.begin(), batches_.upper_bound(version));
    return verdict;
  }
  bool may_read(int, std::int64_t clock, std::int64_t version) const override { return version >= clock; }
  bool update_is_batch() const override { return true; }
  std::vector<std::byte> save() const override {
    WireWriter out;
    for (const auto& [clock, batch] : batches_) {
      for (const auto& [slice, serial] : batch) {
        out.put(clock);
        out.put(slice);
        out.put(serial);
      }
    }
    return out.take();
  }
  void restore(std::span<const std::byte> bytes) override {
    WireReader in(bytes);
    batches_.clear();
    while (!in.is_at_end()) {
      const auto clock = in.get<std::int64_t>();
      const auto slice = in.get<int>();
      batches_[clock][slice] = in.get<std::int64_t>();
    }
  }

 private:
  std::size_t workers_;
  std::map<std::int64_t, std::map<int, std::int64_t>> batches_;
};

SimulationOptions on_arrival(std::uint64_t seed, int replicas) {
  SimulationOptions options;
  options.seed = seed;
  options.replicas = replicas;
  options.make_consistency = [] { return std::make_unique<OnArrival>(); };
  return options;
}

SimulationOptions batch_by_batch(std::uint64_t seed, int replicas) {
  SimulationOptions options = on_arrival(seed, replicas);
  options.make_consistency = [] { return std::make_unique<BatchByBatch>(3); };
  options.worker.takes_over = true;
  return options;
}

void expect_good(const SimulationReport& report) {
  for (const std::string& violation : report.violations)
    ADD_FAILURE() << "seed " << report.seed << ": " << violation;
}

TEST(SimulatedCluster, TrainsWithoutFaults) {
  for (const int replicas : {1, 2, 3}) {
    SimulationOptions options = on_arrival(1, replicas);
    options.faults = {0, 0, 0, 0, 0};
    options.faults.messages = {0, 0, 0};
    const SimulationReport report = simulate_ps(options);
    expect_good(report);
    EXPECT_GE(report.acknowledged, 3 * 3 * 100);
    EXPECT_LT(report.seconds, 10);
    EXPECT_EQ(report.lost, 0);
  }
}

TEST(SimulatedCluster, LosesNothingThatWasAcknowledged) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const int replicas : {1, 2, 3}) expect_good(simulate_ps(on_arrival(seed, replicas)));
  }
}

TEST(SimulatedCluster, SlicesOfLostWorkersAreTakenOver) {
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    for (const int replicas : {1, 2}) expect_good(simulate_ps(batch_by_batch(seed, replicas)));
  }
}

TEST(SimulatedCluster, GoesOnSoonAfterAKill) {
  std::vector<double> recoveries;
  for (std::uint64_t seed = 1; seed <= kSeeds; ++seed) {
    const SimulationReport report = simulate_ps(on_arrival(seed, 2));
    recoveries.insert(recoveries.end(), report.recoveries.begin(), report.recoveries.end());
  }
  std::sort(recoveries.begin(), recoveries.end());
  ASSERT_GT(recoveries.size(), kSeeds);
  EXPECT_LE(recoveries[recoveries.size() * 95 / 100], 1.5);
}

TEST(SimulatedCluster, ASeedRepeats) {
  const SimulationReport once = simulate_ps(on_arrival(7, 2));
  const SimulationReport again = simulate_ps(on_arrival(7, 2));
  EXPECT_EQ(once.messages, again.messages);
  EXPECT_EQ(once.recoveries, again.recoveries);
  EXPECT_EQ(once.seconds, again.seconds);
}

}  // namespace
}  // namespace hocket
