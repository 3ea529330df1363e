#include "collective/choose.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "collective/simulate.h"

namespace hocket {
namespace {

constexpr Link kLink{Seconds(50e-6), 8e-10};

Demand all_reduce(std::size_t bytes, ReduceOrder order = ReduceOrder::any) {
  return {Collective::all_reduce, bytes / 4, 4, order, false};
}

const Candidate& find(const std::vector<Candidate>& candidates, Algorithm algorithm) {
  return *std::find_if(candidates.begin(), candidates.end(),
                       [&](const Candidate& candidate) { return candidate.algorithm == algorithm; });
}

bool has(const std::vector<Candidate>& candidates, Algorithm algorithm) {
  return std::any_of(candidates.begin(), candidates.end(),
                     [&](const Candidate& candidate) { return candidate.algorithm == algorithm; });
}

TEST(Choose, LatencyDecidesForSmallMessagesAndBandwidthForLargeOnes) {
  const Topology topology = uniform_topology(16, {kLink});
  const std::vector<Candidate> small = candidates(all_reduce(64), topology);
  EXPECT_EQ(small.front().algorithm, Algorithm::recursive_doubling);
  EXPECT_EQ(small.front().rounds, 4);
  const std::vector<Candidate> large = candidates(all_reduce(64 << 20), topology);
  EXPECT_EQ(large.front().bytes_per_rank, 2u * 15 * (64 << 20) / 16);  // The least there is.
  EXPECT_TRUE(std::is_sorted(large.begin(), large.end(), [](const Candidate& a, const Candidate& b) {
    return a.predicted < b.predicted;
  }));
}

TEST(Choose, PredictsWhatTheSimulatorReplays) {
  const Topology topology = uniform_topology(6, {kLink, 3, 4});
  const Demand demand = all_reduce(100'000);
  for (const Candidate& candidate : candidates(demand, topology)) {
    const Call call = call_of(demand, candidate.algorithm, topology);
    const Simulation simulation = simulate([&](Rank me) { return schedule_of(call, me); }, topology, 4);
    EXPECT_EQ(candidate.predicted, simulation.time()) << name_of(candidate.algorithm);
  }
}

// Four racks of eight behind uplinks of a quarter of their ranks' rate; between racks a message takes longer.
TEST(Choose, TakesHierarchicalBetweenOversubscribedRacks) {
  const Topology racks = uniform_topology(32, {kLink, 8, 4, Seconds(100e-6)});
  const std::vector<Candidate> ways = candidates(all_reduce(1 << 20), racks);
  EXPECT_EQ(ways.front().algorithm, Algorithm::hierarchical);
  EXPECT_GE(find(ways, Algorithm::ring).predicted / ways.front().predicted, 2);
}

TEST(Choose, TakesHierarchicalWhereTheOrderOfRanksIgnoresTheRacks) {
  const Topology racks = uniform_topology(24, {kLink, 8, 4, Seconds(0), RankOrder::cyclic});
  for (const std::size_t bytes : {std::size_t{1} << 20, std::size_t{64} << 20}) {
    const std::vector<Candidate> ways = candidates(all_reduce(bytes), racks);
    EXPECT_EQ(ways.front().algorithm, Algorithm::hierarchical);
    EXPECT_GE(find(ways, Algorithm::ring).predicted / ways.front().predicted, 2);
  }
}

TEST(Choose, HierarchicalSendsTheLeastAcrossRacks) {
  const Topology racks = uniform_topology(12, {kLink, 4, 4, Seconds(0), RankOrder::cyclic});
  const Demand demand = all_reduce(12000);
  const Call call = call_of(demand, Algorithm::hierarchical, racks);
  const Simulation simulation = simulate([&](Rank me) { return schedule_of(call, me); }, racks, 4);
  EXPECT_EQ(simulation.bytes[static_cast<std::size_t>(Level::rack)],
            3u * (2 * 12000 * 2 / 3));  // 2N(R-1)/R each.
}

TEST(Choose, ReduceOrderLimitsSumsOnly) {
  const Topology topology = uniform_topology(8, {kLink});
  for (const Candidate& way : candidates(all_reduce(1 << 20, ReduceOrder::rank), topology)) {
    EXPECT_TRUE(keeps_rank_order(way.algorithm));
  }
  Demand gather = all_reduce(1 << 20, ReduceOrder::rank);
  gather.collective = Collective::all_gather;
  EXPECT_TRUE(has(candidates(gather, topology), Algorithm::ring));
  const std::vector<Candidate> pair =
      candidates(all_reduce(1 << 20, ReduceOrder::rank), uniform_topology(2, {kLink}));
  EXPECT_TRUE(has(pair, Algorithm::ring));  // Two terms have one sum.
}

TEST(Choose, DirectNeedsSharedMemory) {
  const Topology topology = detect_topology(4);
  Demand demand = all_reduce(1 << 20);
  EXPECT_FALSE(has(candidates(demand, topology), Algorithm::direct));
  demand.shares_memory = true;
  EXPECT_TRUE(has(candidates(demand, topology), Algorithm::direct));
}

TEST(Choose, LargeWorldsArePriced) {
  const Topology topology = uniform_topology(3000, {kLink});
  const std::vector<Candidate> ways = candidates(all_reduce(3000 * 400), topology);
  const Candidate& ring = find(ways, Algorithm::ring);
  EXPECT_FALSE(ring.is_replayed);
  EXPECT_NEAR(ring.predicted.count(), 2 * 2999 * (50e-6 + 400 * 8e-10), 1e-9);
  EXPECT_TRUE(find(ways, Algorithm::binomial).is_replayed);
}

TEST(Choose, ExplainsItself) {
  const Topology topology = uniform_topology(4, {kLink});
  const Demand demand = all_reduce(1 << 20);
  const std::string text = explain(demand, topology, candidates(demand, topology));
  EXPECT_NE(text.find("all_reduce of 1.00 MiB among 4 ranks"), std::string::npos) << text;
  EXPECT_NE(text.find("sums in rank order"), std::string::npos) << text;
  EXPECT_NE(text.find("ring "), std::string::npos) << text;
}

TEST(ChoiceTable, CoversEverySizeOfEveryCollective) {
  const ChoiceTable table = choose_all({}, uniform_topology(5, {kLink}));
  for (const Collective collective : all_collectives()) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, std::uint64_t{5000}, std::uint64_t{1} << 40}) {
      ASSERT_TRUE(table.find(collective, bytes)) << name_of(collective);
    }
  }
  EXPECT_NE(table.find(Collective::all_reduce, 64), table.find(Collective::all_reduce, 1 << 28));
  EXPECT_EQ(ChoiceTable::parse(table.text(), "choice.toml"), table);
}

TEST(ChoiceTable, MeasurementOverrulesPrediction) {
  const auto measure = [](const Demand&, Algorithm algorithm) -> std::optional<Seconds> {
    return Seconds(algorithm == Algorithm::halving_doubling ? 1e-6 : 1);
  };
  const ChoiceTable table = choose_all({}, uniform_topology(8, {kLink}), measure);
  EXPECT_EQ(table.find(Collective::all_reduce, 1 << 28), Algorithm::halving_doubling);
}

TEST(ChoiceTable, RefusesWhatItDidNotWrite) {
  const auto error = [](const std::string& text) -> std::string {
    try {
      ChoiceTable::parse(text, "c.toml");
    } catch (const ConfigError& refused) {
      return refused.what();
    }
    return "";
  };
  const std::string head = "world = 2\nreduce_order = \"any\"\n";
  EXPECT_EQ(error("world = 2"), "c.toml:1:1: reduce_order: expected a string");
  EXPECT_EQ(error("world = 0\nreduce_order = \"any\""),
            "c.toml:1:9: world: expected a number from 1 to 2147483647");
  EXPECT_EQ(error(head + "[[choice]]\ncollective = \"sum\"\nalgorithm = \"ring\""),
            "c.toml:3:1: unknown collective sum");
  EXPECT_EQ(error(head + "[[choice]]\ncollective = \"reduce\"\nalgorithm = \"auto\""),
            "c.toml:3:1: unknown algorithm auto");
  const std::string choice = "[[choice]]\ncollective = \"reduce\"\nalgorithm = \"ring\"\n";
  EXPECT_EQ(error(head + choice + choice),
            "c.toml:6:1: choice: expected growing sizes of one collective after the other");
}

}  // namespace
}  // namespace hocket
