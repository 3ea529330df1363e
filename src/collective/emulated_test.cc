#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <barrier>
#include <cmath>
#include <vector>

#include "collective/choose.h"
#include "collective/group.h"
#include "collective/simulate.h"
#include "net/emulation.h"
#include "net/run_ranks.h"

namespace hocket {
namespace {

using testing::Each;
using testing::IsEmpty;

// Racks of four ranks whose uplinks have a quarter of what their hosts have together. The links are so
// slow that nothing else takes time.
Topology oversubscribed_racks(int world) {
  UniformOptions options;
  options.link = {Seconds(1e-3), 1e-7};
  options.rack = 4;
  options.oversubscription = 4;
  options.order = RankOrder::cyclic;  // Neighbours are in different racks, as a scheduler may deal them.
  return uniform_topology(world, options);
}

// The median of a few all-reduces on emulated links: between the last start and the last end of all ranks.
Seconds measure(const Topology& topology, const Call& call) {
  std::vector<std::byte> memory(LinkLedger::bytes_needed(topology.links()) + 8);
  LinkLedger ledger(topology.links(), std::span(memory));
  constexpr std::size_t kRuns = 3;
  std::vector<std::array<TimePoint, 2 * kRuns>> times(static_cast<std::size_t>(call.world));
  std::barrier together(call.world);  // Costs nothing on the emulated links.
  const auto body = [&](std::unique_ptr<Transport> transport) {
    GroupOptions options;
    options.group_of = call.group_of;
    Group group(std::move(transport), options);
    auto& mine = times[static_cast<std::size_t>(group.rank())];
    std::vector<float> data(call.count);
    for (std::size_t i = 0; i < kRuns; ++i) {
      together.arrive_and_wait();
      mine[2 * i] = Clock::now();
      group.all_reduce(std::span(data), Reduction::sum, call.algorithm);
      mine[2 * i + 1] = Clock::now();
    }
  };
  EXPECT_THAT(run_ranks(call.world, body, Medium::inproc, Seconds(60), &ledger), Each(IsEmpty()));
  std::array<Seconds, kRuns> durations;
  for (std::size_t i = 0; i < kRuns; ++i) {
    TimePoint start = times[0][2 * i];
    TimePoint end = start;
    for (const auto& of_rank : times) {
      start = std::max(start, of_rank[2 * i]);
      end = std::max(end, of_rank[2 * i + 1]);
    }
    durations[i] = end - start;
  }
  std::sort(durations.begin(), durations.end());
  return durations[kRuns / 2];
}

TEST(EmulatedLinks, EveryAlgorithmTakesWhatTheSimulatorPredicts) {
  const Topology topology = oversubscribed_racks(8);
  for (const Algorithm algorithm : all_algorithms()) {
    const Demand demand{Collective::all_reduce, 40'000, sizeof(float)};
    const Call call = call_of(demand, algorithm, topology);
    if (algorithm == Algorithm::direct || !supports(call)) continue;
    const auto of_rank = [&](Rank rank) { return schedule_of(call, rank); };
    const double predicted = simulate(of_rank, topology, sizeof(float)).time().count();
    double measured = 0;
    for (int attempt = 0; attempt < 10; ++attempt) {  // A busy machine delays ranks that nothing else would.
      measured = measure(topology, call).count();
      if (std::abs(measured / predicted - 1) <= 0.15) break;
    }
    EXPECT_NEAR(measured / predicted, 1, 0.15)
        << name_of(algorithm) << ": predicted " << predicted << " s, measured " << measured << " s";
  }
}

TEST(EmulatedLinks, TheChooserTakesHierarchicalAndItBeatsTheRingTwice) {
  const Topology topology = oversubscribed_racks(12);
  const Demand demand{Collective::all_reduce, 100'000, sizeof(float)};
  const auto ranked = candidates(demand, topology);
  EXPECT_EQ(ranked.front().algorithm, Algorithm::hierarchical);
  Seconds ring{0}, hierarchical{0};
  for (int attempt = 0; attempt < 10; ++attempt) {  // As above.
    ring = measure(topology, call_of(demand, Algorithm::ring, topology));
    hierarchical = measure(topology, call_of(demand, Algorithm::hierarchical, topology));
    if (ring / hierarchical >= 2) break;
  }
  EXPECT_GE(ring / hierarchical, 2) << ring.count() << " s against " << hierarchical.count() << " s";
}

}  // namespace
}  // namespace hocket
