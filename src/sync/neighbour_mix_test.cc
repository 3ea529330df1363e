#include "sync/neighbour_mix.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "base/rng.h"
#include "net/run_ranks.h"

namespace hocket {
namespace {

using Values = std::vector<std::vector<double>>;  // By peer.

Values random_peers(int peers, int count) {
  Values values(static_cast<std::size_t>(peers));
  for (int peer = 0; peer < peers; ++peer) {
    Rng rng{static_cast<std::uint64_t>(peer)};
    for (int i = 0; i < count; ++i) values[static_cast<std::size_t>(peer)].push_back(rng.uniform(-1, 1));
  }
  return values;
}

// What each peer has after `rounds`; `sent` gets the bytes each has sent.
Values gossip(const PeerGraph& graph, const Values& start, int rounds, Medium medium,
              std::vector<std::uint64_t>* sent = nullptr) {
  Values values = start;
  const auto body = [&](std::unique_ptr<Transport> transport) {
    const auto rank = static_cast<std::size_t>(transport->rank());
    NeighbourMix mix(*transport, graph);
    std::vector<double> own = start[rank];
    std::vector<double> mixed(own.size());
    for (int round = 0; round < rounds; ++round) {
      mix.run(DType::f64, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(mixed)));
      own.swap(mixed);
    }
    values[rank] = own;
    if (sent != nullptr) (*sent)[rank] = transport->traffic().bytes_sent;
  };
  EXPECT_THAT(run_ranks(graph.size(), body, medium), testing::Each(testing::IsEmpty()));
  return values;
}

std::vector<double> mean_of_peers(const Values& values) {
  std::vector<double> mean(values[0].size());
  for (const std::vector<double>& own : values) {
    for (std::size_t i = 0; i < own.size(); ++i) mean[i] += own[i] / static_cast<double>(values.size());
  }
  return mean;
}

double distance_of_peers(const Values& values, const std::vector<double>& mean) {
  double sum = 0;
  for (const std::vector<double>& own : values) {
    for (std::size_t i = 0; i < own.size(); ++i) sum += std::pow(own[i] - mean[i], 2);
  }
  return std::sqrt(sum);
}

TEST(NeighbourMix, IsARoundOfTheMixingMatrix) {
  const PeerGraph graph = parse_peer_graph("0 1\n1 2\n2 0\n2 3\n", 4, "");
  const MixingMatrix matrix = mixing_matrix(graph);
  const Values start = random_peers(4, 5);
  for (const Medium medium : {Medium::inproc, Medium::shm, Medium::tcp}) {
    const Values values = gossip(graph, start, 1, medium);
    for (int row = 0; row < 4; ++row) {
      for (std::size_t i = 0; i < 5; ++i) {
        double expected = 0;
        for (int column = 0; column < 4; ++column) {
          expected += matrix.at(row, column) * start[static_cast<std::size_t>(column)][i];
        }
        EXPECT_NEAR(values[static_cast<std::size_t>(row)][i], expected, 1e-15) << name_of(medium);
      }
    }
  }
}

TEST(NeighbourMix, CompleteGraphsAgreeInOneRoundToTheBit) {
  const Values start = random_peers(4, 1000);
  const Values values = gossip(make_peer_graph("complete", 4), start, 1, Medium::inproc);
  for (const std::vector<double>& own : values) EXPECT_EQ(own, values[0]);
  EXPECT_LT(distance_of_peers(values, mean_of_peers(start)), 1e-13);
}

TEST(NeighbourMix, DistanceFallsAtTheRateOfTheSecondEigenvalue) {
  const PeerGraph ring = make_peer_graph("ring", 5);
  const Values start = random_peers(5, 100);
  const double before = distance_of_peers(gossip(ring, start, 10, Medium::inproc), mean_of_peers(start));
  const double after = distance_of_peers(gossip(ring, start, 30, Medium::inproc), mean_of_peers(start));
  EXPECT_NEAR(std::pow(after / before, 1.0 / 20), second_eigenvalue(mixing_matrix(ring)), 1e-3);
}

TEST(NeighbourMix, DirectedGraphsAgreeOnThePlainMean) {
  const PeerGraph graph = parse_peer_graph("0 -> 1\n1 -> 2\n2 -> 0\n0 -> 3\n3 -> 1\n", 4, "");
  const Values start = random_peers(4, 3);
  EXPECT_LT(distance_of_peers(gossip(graph, start, 100, Medium::inproc), mean_of_peers(start)), 1e-12);
}

TEST(NeighbourMix, EachSendsItsDegreeTimesTheBytes) {
  const PeerGraph graph = parse_peer_graph("0 1\n0 2\n0 3\n1 2\n", 4, "");
  for (const Medium medium : {Medium::inproc, Medium::shm, Medium::tcp}) {
    std::vector<std::uint64_t> sent(4);
    gossip(graph, random_peers(4, 1000), 3, medium, &sent);
    const std::uint64_t bytes = 3 * 1000 * sizeof(double);
    EXPECT_THAT(sent, testing::ElementsAre(3 * bytes, 2 * bytes, 2 * bytes, bytes)) << name_of(medium);
  }
}

TEST(NeighbourMix, LargeArenasDoNotFillWhatLiesBetween) {
  const Values start = random_peers(3, 1 << 18);
  const Values values = gossip(make_peer_graph("complete", 3), start, 2, Medium::shm);
  EXPECT_LT(distance_of_peers(values, mean_of_peers(start)), 1e-10);
}

TEST(NeighbourMix, APeerThatIsGoneIsNamed) {
  const PeerGraph ring = make_peer_graph("ring", 3);
  const auto body = [&](std::unique_ptr<Transport> transport) {
    if (transport->rank() == 2) return;
    std::vector<double> own(4);
    std::vector<double> mixed(4);
    NeighbourMix mix(*transport, ring);
    mix.run(DType::f64, std::as_bytes(std::span(own)), std::as_writable_bytes(std::span(mixed)));
  };
  const std::vector<std::string> errors = run_ranks(3, body, Medium::inproc, Seconds(0.2));
  EXPECT_THAT(errors[0], testing::AllOf(testing::HasSubstr("rank 2"), testing::HasSubstr("gossip, round 1")));
}

}  // namespace
}  // namespace hocket
