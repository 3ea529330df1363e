#include "sync/mixing.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "base/rng.h"

namespace hocket {
namespace {

double column_sum(const MixingMatrix& matrix, int column) {
  double sum = 0;
  for (int row = 0; row < matrix.size(); ++row) sum += matrix.at(row, column);
  return sum;
}

// What each peer has after `rounds` of mixing, by push-sum where the graph is directed.
std::vector<double> mix(const PeerGraph& graph, std::vector<double> values, int rounds) {
  std::vector<Mixing> peers;
  for (int peer = 0; peer < graph.size(); ++peer) peers.emplace_back(graph, peer);
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> next;
    for (int peer = 0; peer < graph.size(); ++peer) {
      Mixing& mixing = peers[static_cast<std::size_t>(peer)];
      double sum = 0;
      for (std::size_t i = 0; i < mixing.sources().size(); ++i) {
        sum += mixing.factors()[i] * values[static_cast<std::size_t>(mixing.sources()[i])];
      }
      mixing.advance();
      next.push_back(sum);
    }
    values = next;
  }
  return values;
}

double distance(const std::vector<double>& values, double mean) {
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return std::sqrt(sum);
}

std::vector<double> random_values(int size) {
  Rng rng{7};
  std::vector<double> values(static_cast<std::size_t>(size));
  for (double& value : values) value = rng.uniform(-1, 1);
  return values;
}

double mean_of(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

PeerGraph lollipop() { return parse_peer_graph("0 1\n1 2\n2 0\n2 3\n3 4\n", 5, "lollipop"); }
// Strongly connected; its peers send to different numbers of others.
PeerGraph one_way() { return parse_peer_graph("0 -> 1\n1 -> 2\n2 -> 0\n0 -> 3\n3 -> 1\n", 4, "one way"); }

TEST(Mixing, MetropolisWeightsAreSymmetricAndDoublyStochastic) {
  for (const PeerGraph& graph : {make_peer_graph("ring", 6), make_peer_graph("torus", 12), lollipop()}) {
    const MixingMatrix matrix = mixing_matrix(graph);
    for (int a = 0; a < graph.size(); ++a) {
      EXPECT_NEAR(column_sum(matrix, a), 1, 1e-15);
      EXPECT_GT(matrix.at(a, a), 0);
      for (int b = 0; b < graph.size(); ++b) {
        EXPECT_EQ(matrix.at(a, b), matrix.at(b, a));
        EXPECT_EQ(matrix.at(a, b) > 0, a == b || graph.has_edge(a, b));
      }
    }
  }
  EXPECT_DOUBLE_EQ(mixing_matrix(lollipop()).at(2, 3), 1.0 / 4);  // Degrees 3 and 2.
}

TEST(Mixing, DirectedSharesAreColumnStochastic) {
  const MixingMatrix matrix = mixing_matrix(one_way());
  for (int column = 0; column < 4; ++column) EXPECT_NEAR(column_sum(matrix, column), 1, 1e-15);
  EXPECT_DOUBLE_EQ(matrix.at(3, 0), 1.0 / 3);
  EXPECT_EQ(matrix.at(0, 3), 0);
}

TEST(Mixing, SecondEigenvaluesAreThoseOfTheBooks) {
  const auto second = [](const char* name, int size) {
    return second_eigenvalue(mixing_matrix(make_peer_graph(name, size)));
  };
  for (const int size : {3, 4, 5, 8, 16, 33}) {  // Circulant: (1 + 2 cos(2π/n)) / 3.
    EXPECT_NEAR(second("ring", size), (1 + 2 * std::cos(2 * std::numbers::pi / size)) / 3, 1e-9) << size;
  }
  for (const int size : {1, 2, 3, 7, 16}) EXPECT_EQ(second("complete", size), 0) << size;
  EXPECT_NEAR(second("torus", 16), (1 + 2 + 2 * std::cos(2 * std::numbers::pi / 4)) / 5, 1e-9);
  for (const int size : {4, 8, 16, 32}) {  // 1 - 2 / (1 + log₂ n) (Ying et al. 2021).
    const double hops = std::log2(size);
    EXPECT_NEAR(second("exponential", size), 1 - 2 / (1 + hops), 1e-7) << size;
  }
}

TEST(Mixing, AGraphInPartsHasNoGap) {
  EXPECT_NEAR(second_eigenvalue(mixing_matrix(parse_peer_graph("0 1\n2 3", 4, ""))), 1, 1e-12);
  EXPECT_NEAR(second_eigenvalue(mixing_matrix(parse_peer_graph("0 1\n1->2\n2 3", 4, ""))), 5.0 / 6, 1e-9)
      << "what 2 and 3 know never reaches 0 and 1, yet nothing stays apart: components say it, not the gap";
}

TEST(Mixing, CompleteGraphsAgreeInOneRound) {
  const std::vector<double> start = random_values(7);
  EXPECT_LT(distance(mix(make_peer_graph("complete", 7), start, 1), mean_of(start)), 1e-15);
}

TEST(Mixing, DistanceFallsAtTheRateOfTheSecondEigenvalue) {
  for (const PeerGraph& graph : {make_peer_graph("ring", 8), make_peer_graph("torus", 12), lollipop()}) {
    const std::vector<double> start = random_values(graph.size());
    const double mean = mean_of(start);
    const double before = distance(mix(graph, start, 40), mean);
    const double after = distance(mix(graph, start, 60), mean);
    EXPECT_NEAR(std::pow(after / before, 1.0 / 20), second_eigenvalue(mixing_matrix(graph)), 1e-3);
  }
}

TEST(Mixing, PushSumFindsThePlainAverageOfADirectedGraph) {
  for (const PeerGraph& graph : {one_way(), make_peer_graph("exponential", 6)}) {
    const std::vector<double> start = random_values(graph.size());
    EXPECT_LT(distance(mix(graph, start, 200), mean_of(start)), 1e-12);
  }
}

TEST(Mixing, PushSumPreservesTheWeightedAverage) {
  const PeerGraph graph = one_way();
  const std::vector<double> start = random_values(4);
  for (const int rounds : {1, 2, 5}) {
    const std::vector<double> values = mix(graph, start, rounds);
    Mixing mixing(graph, 0);
    for (int i = 0; i < rounds; ++i) mixing.advance();
    double sum = 0;
    for (int peer = 0; peer < 4; ++peer) sum += mixing.weight(peer) * values[static_cast<std::size_t>(peer)];
    EXPECT_NEAR(sum / 4, mean_of(start), 1e-15);
    EXPECT_NE(mixing.weight(0), 1);
  }
}

}  // namespace
}  // namespace hocket
